// Convolution and matrix product of f32 on the plain cores: kernels/gemm_f32.cu. They take every layout, and weights that are known only at
// run time. Constant weights of a convolution are kept as [group][tap][channel][output]: neighbours for a block that reads them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "runtime/cuda/f32_layer.h"
#include "runtime/cuda/gpu_model.h"
#include "runtime/cuda/s8_layer.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/ops/matmul.h"

namespace ingot::cuda {
namespace {

constexpr int64_t kTile = 64;

// Grid and launch; false sizes never come here, so what is counted fits its type or is refused in words.
Status launch_gemm(const Device& device, CUfunction function, GemmF32& p, int64_t matrices, void* stream) {
  const int64_t row_tiles = blocks_for(p.rows, kTile), column_tiles = blocks_for(p.columns, kTile);
  if (row_tiles * matrices == 0 || column_tiles == 0) return {};
  if (column_tiles > 65535 || row_tiles > INT32_MAX / matrices)
    return Status(StatusCode::kUnsupported, "cuda: matrix product is too large: got " + std::to_string(p.rows) + " x " + std::to_string(p.columns) +
                                                ", need fewer than 2^22 columns and 2^31 tiles");
  p.row_tiles = static_cast<int32_t>(row_tiles);
  return launch(device, function, {row_tiles * matrices, static_cast<int>(column_tiles)}, 256, 0, stream, p);
}

// Microseconds of a launch of gemm_f32, by the model.
double estimate_gemm(const Problem& problem, int64_t rows, int64_t columns, int64_t k, int64_t matrices, std::span<const Shape> inputs, const Shape& y) {
  const GpuModel model = gpu_model(problem.device);
  TiledWork work;
  work.rows = rows;
  work.columns = columns;
  work.matrices = matrices;
  work.steps = blocks_for(k, 16);
  work.warp_rows = 8;
  work.step_products = 16;
  work.shared_bytes = 17408;
  work.rate = model.products_f32;
  work.total_bytes = 4.0 * static_cast<double>(y.elements());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (problem.inputs[i].present) work.total_bytes += 4.0 * static_cast<double>(inputs[i].elements());
  return tiled_microseconds(model, work);
}

// What does not depend on a run's shapes.
struct ConvWindow {
  ConvParams conv;
  int spatial;
  Image image;
  int64_t outputs, group_channels, taps;

  explicit ConvWindow(const Problem& problem) : conv(std::get<ConvParams>(problem.params)) {
    const Shape& w = problem.inputs[1].type.shape;
    spatial = w.rank - 2;
    image = window_image(spatial, w.span().subspan(2), conv.strides, conv.dilations);
    outputs = w[0];
    group_channels = w[1];
    taps = static_cast<int64_t>(image.kernel_h) * image.kernel_w;
  }
  int64_t bytes() const { return outputs * group_channels * taps * 4; }
  void set_sizes(Image& sized, const Shape& x, const Shape& y) const {
    const PadPair pad_h = spatial == 2 ? conv_pads(conv, 0, 2, x[2], image.kernel_h) : PadPair{};
    set_image_sizes(sized, x, y, pad_h, conv_pads(conv, spatial - 1, spatial, x[x.rank - 1], image.kernel_w));
  }
};

// Reference code leaves padding out; this kernel multiplies it as zeros. Known where constants are at hand.
bool infinite_weights_meet_padding(const Problem& problem) {
  const auto& params = std::get<ConvParams>(problem.params);
  if (params.auto_pad != AutoPad::kSameUpper && params.auto_pad != AutoPad::kSameLower &&
      std::all_of(params.pads.begin(), params.pads.end(), [](int64_t pad) { return pad == 0; }))
    return false;
  const std::span<const std::byte> weights = problem.inputs[1].constant;
  for (size_t at = 0; at + 4 <= weights.size(); at += 4) {
    float value;
    std::memcpy(&value, &weights[at], sizeof value);
    if (!std::isfinite(value)) return true;
  }
  return false;
}

class ConvKernel final : public Kernel {
 public:
  ConvKernel(Device& device, CUfunction function, ConvWindow window, DeviceMemory weights, const GemmF32& params, bool x_last, bool y_last)
      : device_(device), function_(function), window_(std::move(window)), weights_(std::move(weights)), params_(params), x_last_(x_last), y_last_(y_last) {}

  Status run(const KernelArgs& args) noexcept override {
    GemmF32 p = params_;
    window_.set_sizes(p.image, args.input_shapes[0], args.output_shapes[0]);
    const Image& image = p.image;
    const int64_t groups = window_.conv.groups, channels = window_.group_channels * groups;
    const int64_t in_plane = static_cast<int64_t>(image.in_h) * image.in_w;
    p.a = static_cast<const float*>(args.inputs[0]);
    p.b = static_cast<const float*>(weights_.bytes() > 0 ? weights_.at(0) : args.inputs[1]);
    p.out_plane = static_cast<int64_t>(image.out_h) * image.out_w;
    p.rows = image.batch * p.out_plane;
    p.a_image = channels * in_plane;
    p.a_row = x_last_ ? channels : 1;
    p.a_channel = x_last_ ? 1 : in_plane;
    p.a_batch[0] = window_.group_channels * p.a_channel;
    p.out_image = window_.outputs * p.out_plane;
    p.out_row = y_last_ ? window_.outputs : 1;
    p.out_column = y_last_ ? 1 : p.out_plane;
    p.out_batch = p.columns * p.out_column;
    bind_epilogue(p.epilogue, args);
    return launch_gemm(device_, function_, p, groups, args.stream);
  }

 private:
  Device& device_;
  CUfunction function_;
  ConvWindow window_;
  DeviceMemory weights_;
  GemmF32 params_;
  bool x_last_, y_last_;
};

class ConvTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.conv.simt.f32", 1, OpKind::kConv};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_f32_conv(problem)) return {refusal};
    if (is_depthwise(problem)) return {"depthwise: too few products for a matrix kernel"};
    if (infinite_weights_meet_padding(problem)) return {"a weight is infinite or NaN, which the zeros of padding would turn into NaN"};
    const ConvWindow window(problem);
    if (window.group_channels * window.taps > (int64_t{1} << 30)) return {"too many products per output"};
    return {};
  }
  uint32_t packed_inputs(const Problem& problem) const override { return problem.inputs[1].is_constant ? 0b10 : 0; }
  Expected<Blob> prepare(const Problem& problem) const override {
    if (!problem.inputs[1].is_constant) return Blob{};
    const ConvWindow window(problem);
    const std::byte* w = problem.inputs[1].constant.data();
    Blob blob(static_cast<size_t>(window.bytes()));
    std::byte* to = blob.data();
    const int64_t each = window.outputs / window.conv.groups;
    for (int64_t group = 0; group < window.conv.groups; ++group)
      for (int64_t tap = 0; tap < window.taps; ++tap)
        for (int64_t c = 0; c < window.group_channels; ++c)
          for (int64_t o = 0; o < each; ++o, to += 4)
            std::memcpy(to, w + (((group * each + o) * window.group_channels + c) * window.taps + tap) * 4, 4);
    return blob;
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    ConvWindow window(problem);
    const bool packed = problem.inputs[1].is_constant;
    const int64_t need = packed ? window.bytes() : 0;
    if (static_cast<int64_t>(blob.size()) != need)
      return Status(StatusCode::kInvalidEngine, "conv: packed weights have the wrong size: got " + std::to_string(blob.size()) +
                                                    " bytes, need " + std::to_string(need) + "; rebuild the engine");
    INGOT_ASSIGN(Device* const device, Device::first());
    DeviceMemory weights;
    if (packed) {
      INGOT_ASSIGN(weights, DeviceMemory::upload(*device, blob));
    }
    const bool x_last = problem.inputs[0].type.layout == Layout::kChannelsLast, y_last = problem.outputs[0].type.layout == Layout::kChannelsLast;
    INGOT_ASSIGN(const CUfunction function, device->function(x_last ? "gemm_f32_window_last" : "gemm_f32_window_linear", 0));
    const int64_t each = window.outputs / window.conv.groups, products = window.group_channels * window.taps;
    GemmF32 p{};
    p.columns = p.bias_batch = static_cast<int32_t>(each);
    p.k = static_cast<int32_t>(products);
    p.batch_rank = 1;
    p.batch_dims[0] = window.conv.groups;
    p.b_batch[0] = each * products;
    p.b_tap = packed ? window.group_channels * each : 1;
    p.b_channel = packed ? each : window.taps;
    p.b_column = packed ? 1 : products;
    p.group_channels = static_cast<int32_t>(window.group_channels);
    p.image = window.image;
    p.epilogue = make_epilogue_f32(window.conv.activation, 1, window.outputs);
    return std::unique_ptr<Kernel>(std::make_unique<ConvKernel>(*device, function, std::move(window), std::move(weights), p, x_last, y_last));
  }
  double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const override {
    const ConvWindow window(problem);
    const int64_t groups = window.conv.groups;
    return estimate_gemm(problem, outputs[0].elements() / window.outputs, window.outputs / groups, window.group_channels * window.taps, groups, inputs, outputs[0]);
  }
};

class DepthwiseTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.conv.depthwise.f32", 1, OpKind::kConv};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_f32_conv(problem)) return {refusal};
    if (!is_depthwise(problem)) return {"not depthwise: groups, inputs and outputs differ"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const ConvWindow window(problem);
    DepthwiseF32 params{};
    params.image = window.image;
    params.channels = static_cast<int32_t>(window.outputs);
    params.x_channels_last = problem.inputs[0].type.layout == Layout::kChannelsLast;
    params.y_channels_last = problem.outputs[0].type.layout == Layout::kChannelsLast;
    params.epilogue = make_epilogue_f32(window.conv.activation, 1, window.outputs);
    return make_simple(*device, "depthwise_f32", DeviceMemory(), params, [window](DepthwiseF32& p, const KernelArgs& args) {
      window.set_sizes(p.image, args.input_shapes[0], args.output_shapes[0]);
      p.x = static_cast<const float*>(args.inputs[0]);
      p.weights = static_cast<const float*>(args.inputs[1]);
      p.elements = args.output_shapes[0].elements();
      bind_epilogue(p.epilogue, args);
    });
  }
};

class DepthwiseVectorTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.conv.depthwise_vector.f32.channels_last", 1, OpKind::kConv};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_f32_conv(problem)) return {refusal};
    if (!is_depthwise(problem)) return {"not depthwise: groups, inputs and outputs differ"};
    if (!problem.inputs[1].is_constant) return {"weights are not constant"};
    if (problem.inputs[1].type.shape[0] % 4 != 0) return {"channels are not a multiple of 4"};
    if (problem.inputs[0].type.layout != Layout::kChannelsLast || problem.outputs[0].type.layout != Layout::kChannelsLast) return {"tensors are not channels_last"};
    return {};
  }
  uint32_t packed_inputs(const Problem&) const override { return 0b10; }
  Expected<Blob> prepare(const Problem& problem) const override {
    const ConvWindow window(problem);
    const std::byte* w = problem.inputs[1].constant.data();
    Blob blob(static_cast<size_t>(window.bytes()));
    for (int64_t c = 0; c < window.outputs; ++c)
      for (int64_t tap = 0; tap < window.taps; ++tap) std::memcpy(blob.data() + (tap * window.outputs + c) * 4, w + (c * window.taps + tap) * 4, 4);
    return blob;
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    const ConvWindow window(problem);
    if (static_cast<int64_t>(blob.size()) != window.bytes())
      return Status(StatusCode::kInvalidEngine, "depthwise conv: packed weights have the wrong size: got " + std::to_string(blob.size()) +
                                                    " bytes, need " + std::to_string(window.bytes()) + "; rebuild the engine");
    INGOT_ASSIGN(Device* const device, Device::first());
    INGOT_ASSIGN(DeviceMemory weights, DeviceMemory::upload(*device, blob));
    DepthwiseF32 params{};
    params.weights = static_cast<const float*>(weights.at(0));
    params.image = window.image;
    params.channels = static_cast<int32_t>(window.outputs);
    params.epilogue = make_epilogue_f32(window.conv.activation, 1, window.outputs);
    return make_simple(*device, "depthwise_f32_vector", std::move(weights), params, [window](DepthwiseF32& p, const KernelArgs& args) {
      window.set_sizes(p.image, args.input_shapes[0], args.output_shapes[0]);
      p.x = static_cast<const float*>(args.inputs[0]);
      p.elements = args.output_shapes[0].elements() / 4;
      bind_epilogue(p.epilogue, args);
    });
  }
  // Bound by memory, where the scalar kernel is assumed to be bound by its loads.
  double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const override {
    return streamed_microseconds(gpu_model(problem.device), 4.0 * static_cast<double>(inputs[0].elements() + outputs[0].elements()));
  }
};

// Strides of an operand's batch along the dims of the result's batch; 0 where it is broadcast.
void set_batch_strides(const Shape& own, int rank, int64_t matrix, int64_t (&strides)[8]) {
  int64_t stride = matrix;
  for (int d = rank - 1, j = own.rank - 3; d >= 0; --d, --j) {
    strides[d] = j < 0 || own[j] == 1 ? 0 : stride;
    if (j >= 0) stride *= own[j];
  }
}

class MatMulKernel final : public Kernel {
 public:
  MatMulKernel(Device& device, CUfunction function, const MatMulParams& op, const GemmF32& params) : device_(device), function_(function), op_(op), params_(params) {}

  Status run(const KernelArgs& args) noexcept override {
    GemmF32 p = params_;
    const Shape &a = args.input_shapes[0], &b = args.input_shapes[1], &y = args.output_shapes[0];
    // A rank-1 operand is a row (a) or a column (b).
    const int64_t k = a.rank == 1 ? a[0] : a[a.rank - (op_.transpose_a ? 2 : 1)];
    const int64_t m = a.rank == 1 ? 1 : a[a.rank - (op_.transpose_a ? 1 : 2)], n = b.rank == 1 ? 1 : b[b.rank - (op_.transpose_b ? 2 : 1)];
    if (k > (int64_t{1} << 30) || n > (int64_t{1} << 30))
      return Status(StatusCode::kUnsupported, "cuda: matrix product is too large: got an inner dim of " + std::to_string(k) + " and " + std::to_string(n) + " columns, need at most 2^30");
    p.rows = m;
    p.columns = static_cast<int32_t>(n);
    p.k = static_cast<int32_t>(k);
    p.a_row = op_.transpose_a && a.rank > 1 ? 1 : k;
    p.a_channel = op_.transpose_a && a.rank > 1 ? m : 1;
    p.b_column = op_.transpose_b && b.rank > 1 ? k : 1;
    p.b_channel = op_.transpose_b && b.rank > 1 ? 1 : n;
    p.batch_rank = y.rank - (a.rank > 1) - (b.rank > 1);
    int64_t matrices = 1;
    for (int d = 0; d < p.batch_rank; ++d) matrices *= p.batch_dims[d] = y[d];
    set_batch_strides(a, p.batch_rank, m * k, p.a_batch);
    set_batch_strides(b, p.batch_rank, k * n, p.b_batch);
    if (b.rank <= 2 && !op_.transpose_a) {  // one b for all: the matrices of a are one tall one
      p.rows = m * matrices;
      matrices = 1;
      p.batch_rank = 0;
    }
    p.out_batch = m * n;
    p.out_plane = p.rows;
    p.out_row = n;
    p.out_column = 1;
    p.a = static_cast<const float*>(args.inputs[0]);
    p.b = static_cast<const float*>(args.inputs[1]);
    bind_epilogue(p.epilogue, args);
    return launch_gemm(device_, function_, p, matrices, args.stream);
  }

 private:
  Device& device_;
  CUfunction function_;
  MatMulParams op_;
  GemmF32 params_;
};

class MatMulTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cuda.matmul.simt.f32", 1, OpKind::kMatMul};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    if (const char* refusal = refuse_f32_layer(problem, std::get<MatMulParams>(problem.params).activation)) return {refusal};
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (const Operand& operand : operands)
        if (operand.present && operand.type.layout != Layout::kLinear) return {"tensors are not row-major"};
    if (problem.inputs[0].type.shape.rank < 1 || problem.inputs[1].type.shape.rank < 1) return {"an operand is a scalar"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info(), blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    const auto& op = std::get<MatMulParams>(problem.params);
    GemmF32 p{};
    p.epilogue = make_epilogue_f32(op.activation, op.alpha, 0);
    const bool columns = op.transpose_a && problem.inputs[0].type.shape.rank > 1;
    INGOT_ASSIGN(const CUfunction function, device->function(columns ? "gemm_f32_columns" : "gemm_f32_rows", 0));
    return std::unique_ptr<Kernel>(std::make_unique<MatMulKernel>(*device, function, op, p));
  }
  double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const override {
    const auto& op = std::get<MatMulParams>(problem.params);
    const Shape &a = inputs[0], &b = inputs[1];
    const int64_t k = a.rank == 1 ? a[0] : a[a.rank - (op.transpose_a ? 2 : 1)], n = b.rank == 1 ? 1 : b[b.rank - (op.transpose_b ? 2 : 1)];
    const int64_t all = outputs[0].elements() / std::max<int64_t>(1, n), m = a.rank == 1 ? 1 : a[a.rank - (op.transpose_a ? 1 : 2)];
    const int64_t matrices = b.rank <= 2 && !op.transpose_a ? 1 : all / std::max<int64_t>(1, m);
    return estimate_gemm(problem, matrices == 1 ? all : m, n, k, matrices, inputs, outputs[0]);
  }
};

}  // namespace

std::span<const Tactic* const> simt_f32() {
  static const ConvTactic conv;
  static const DepthwiseVectorTactic depthwise_vector;
  static const DepthwiseTactic depthwise;
  static const MatMulTactic matmul;
  static const std::array<const Tactic*, 4> list = {&conv, &depthwise_vector, &depthwise, &matmul};
  return list;
}

}  // namespace ingot::cuda
