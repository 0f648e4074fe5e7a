// Resize in every mode and rule of coordinates: kernels/resize.cu. Nearest for any element of 1, 2, 4 or 8 bytes; linear and cubic for
// f32 and quantised bytes, equal to the reference to the bit. The host works out which dims are sampled at all.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "runtime/cuda/resize_params.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/move_views.h"
#include "runtime/ops/element.h"
#include "runtime/ops/quantize.h"
#include "runtime/s8_problem.h"
#include "runtime/ops/resize_coordinates.h"

namespace ingot::cuda {
namespace {

constexpr size_t kInputs = 4;

const ingot::ResizeParams& op_of(const Problem& problem) { return std::get<ingot::ResizeParams>(problem.params); }

// Whether output index i is input index i without looking.
bool stays(ResizeCoordinates coordinates, const ResizeDim& dim) {
  if (!dim.listed) return true;
  if (dim.in != dim.out || dim.scale != 1) return false;
  return coordinates != ResizeCoordinates::kTfCropAndResize && coordinates != ResizeCoordinates::kAlignCorners;
}

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(Device& device, const Problem& problem, const cuda::ResizeParams& params, std::array<CUfunction, kResizeDims> between, CUfunction nearest)
      : device_(device), op_(op_of(problem)), params_(params), x_layout_(problem.inputs[0].type.layout), y_layout_(problem.outputs[0].type.layout),
        between_(between), nearest_(nearest) {
    for (size_t i = 0; i < problem.inputs.size() && i < kInputs; ++i) {
      present_[i] = problem.inputs[i].present;
      dtypes_[i] = problem.inputs[i].type.dtype;
    }
    inputs_ = std::min(problem.inputs.size(), kInputs);
  }

  Status run(const KernelArgs& args) noexcept override {
    std::array<OpInput, kInputs> values;
    for (size_t i = 0; i < inputs_; ++i) values[i] = {dtypes_[i], args.input_shapes[i], i == 0 ? nullptr : args.host_inputs[i], present_[i]};
    ResizePlan plan;
    INGOT_TRY(make_resize_plan(op_, std::span(values).first(inputs_), true, plan));
    if (!(plan.shape == args.output_shapes[0]))
      return refuse("resize", "output shape differs from what the inputs give", to_string(args.output_shapes[0]), to_string(plan.shape),
                    StatusCode::kInvalidArgument);
    cuda::ResizeParams p = params_;
    p.x = args.inputs[0];
    p.y = args.outputs[0];
    p.elements = plan.shape.elements();
    if (p.elements == 0) return {};
    set_dims(p, plan, args.input_shapes[0]);
    const bool nearest = op_.mode == ResizeMode::kNearest;
    return launch(device_, nearest ? nearest_ : between_[static_cast<size_t>(p.sampled - 1)], {blocks_for(p.elements)}, kThreads, 0, args.stream, p);
  }

 private:
  void set_dims(cuda::ResizeParams& p, const ResizePlan& plan, const Shape& x) const {
    const Strides x_strides = strides_of(x, x_layout_), y_strides = strides_of(plan.shape, y_layout_);
    for (int d = 0; d < plan.rank; ++d) {
      const auto at = static_cast<size_t>(d);
      const ResizeDim& dim = plan.dims[at];
      // Nearest and quantised sampling of nothing but kept dims is a copy that a kernel between elements cannot make of no dim.
      const bool last_chance = op_.mode != ResizeMode::kNearest && d + 1 == plan.rank && p.sampled == 0;
      if (stays(op_.coordinates, dim) && !last_chance) {
        const int last = p.kept - 1;
        if (dim.out == 1) continue;
        if (p.kept > 0 && p.kept_x_strides[last] == x_strides[at] * dim.out && p.kept_y_strides[last] == y_strides[at] * dim.out) {
          p.kept_dims[last] *= dim.out;
          p.kept_x_strides[last] = x_strides[at];
          p.kept_y_strides[last] = y_strides[at];
          continue;
        }
        p.kept_dims[p.kept] = dim.out;
        p.kept_x_strides[p.kept] = x_strides[at];
        p.kept_y_strides[p.kept++] = y_strides[at];
      } else {
        p.dims[p.sampled] = dim;
        p.x_strides[p.sampled] = x_strides[at];
        p.y_strides[p.sampled++] = y_strides[at];
      }
    }
  }

  Device& device_;
  ingot::ResizeParams op_;
  cuda::ResizeParams params_;
  Layout x_layout_, y_layout_;
  std::array<CUfunction, kResizeDims> between_;
  CUfunction nearest_;
  std::array<bool, kInputs> present_{};
  std::array<DataType, kInputs> dtypes_{};
  size_t inputs_ = 0;
};

// The extrapolation value as an element of the result, as bits; false if it has none of these types.
bool outside_bits(const ingot::ResizeParams& op, const TensorType& y, uint64_t& bits) {
  bits = 0;
  if (op.coordinates != ResizeCoordinates::kTfCropAndResize) return true;
  const double value = op.extrapolation_value;
  if (y.dtype == DataType::kF32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(&bits, &narrow, sizeof narrow);
    return true;
  }
  if (!is_per_tensor_byte(y)) return false;
  const bool is_signed = y.dtype == DataType::kS8;
  bits = static_cast<uint8_t>(quantize_value(static_cast<float>(value), scale_of(y), zero_point_of(y), is_signed ? -128 : 0, is_signed ? 127 : 255));
  return true;
}

class ResizeTactic final : public Tactic {
 public:
  ResizeTactic(bool nearest, const char* name) : nearest_(nearest), info_{name, 1, OpKind::kResize} {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    const ingot::ResizeParams& op = op_of(problem);
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if ((op.mode == ResizeMode::kNearest) != nearest_) return {"another mode"};
    if (x.dtype != y.dtype) return {"types of input and output differ"};
    if (x.shape.rank < 1 || x.shape.rank > kResizeDims) return {"not 1 to 5 dims"};
    const bool crops = op.coordinates == ResizeCoordinates::kTfCropAndResize;
    if (crops && (problem.inputs.size() < 2 || !problem.inputs[1].is_constant)) return {"roi is computed in the run"};
    uint64_t bits = 0;
    if (nearest_) {
      const size_t element = element_bytes(x.dtype);
      if (element != 1 && element != 2 && element != 4 && element != 8) return {"elements have neither 1, 2, 4 nor 8 bytes"};
      if (!outside_bits(op, y, bits)) return {"extrapolation value of elements that are neither f32 nor u8/s8 with one scale"};
      return {};
    }
    if (x.dtype != DataType::kF32 && (!is_per_tensor_byte(x) || !is_per_tensor_byte(y))) return {"input is neither f32 nor u8/s8 with one scale"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info_, blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const ingot::ResizeParams& op = op_of(problem);
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    cuda::ResizeParams params{};
    params.filter = filter_of(op);
    params.nearest = op.nearest;
    params.element_bytes = static_cast<int32_t>(element_bytes(x.dtype));
    (void)outside_bits(op, y, params.outside);
    params.extrapolation = static_cast<float>(op.extrapolation_value);
    params.is_byte = is_quantized(x);
    if (params.is_byte && !nearest_) {
      const ResultLimits limits = result_limits(y, {});
      params.is_signed = x.dtype == DataType::kS8;
      params.x_scale = scale_of(x);
      params.x_zero = zero_point_of(x);
      params.y_scale = scale_of(y);
      params.y_zero = limits.zero;
      params.low = limits.low;
      params.high = limits.high;
    }
    std::array<CUfunction, kResizeDims> between{};
    CUfunction nearest = nullptr;
    if (nearest_) {
      INGOT_ASSIGN(nearest, device->function("resize_nearest", 0));
    } else {
      for (size_t i = 0; i < between.size(); ++i) {
        INGOT_ASSIGN(between[i], device->function(("resize_between_" + std::to_string(i + 1)).c_str(), 0));
      }
    }
    return std::unique_ptr<Kernel>(std::make_unique<ResizeKernel>(*device, problem, params, between, nearest));
  }

 private:
  bool nearest_;
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> resize() {
  static const ResizeTactic nearest(true, "cuda.resize.nearest"), between(false, "cuda.resize.between");
  static const std::array<const Tactic*, 2> list = {&nearest, &between};
  return list;
}

}  // namespace ingot::cuda
