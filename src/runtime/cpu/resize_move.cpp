// Resize, nearest for any element type and linear for f32 over at most two dims, in either layout. The places and weights of
// each dim are tabled at the start of a run; then rows of channels or of the last dim are copied or mixed.
#include <array>
#include <cmath>
#include <cstring>

#include "runtime/cpu/broadcast_rows.h"
#include "runtime/ops/element.h"
#include "runtime/ops/resize_coordinates.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 4096;  // bytes of the result below which another thread does not pay

// An output index of a dim: input indices and the weight of each; nearest uses the first only.
struct Place {
  int64_t first = 0, second = 0;
  float first_weight = 1, second_weight = 0;
};

const ResizeParams& params_of(const Problem& problem) { return std::get<ResizeParams>(problem.params); }

// As runtime/ops/resize.cpp weighs two neighbours.
Place place_of(const ResizeParams& params, const ResizeDim& dim, int64_t i) {
  Place place;
  if (!dim.listed) {
    place.first = place.second = i;
    return place;
  }
  float position = 0;
  resize_position(params.coordinates, dim, i, position);
  if (params.mode == ResizeMode::kNearest) {
    place.first = place.second = nearest_index(params.nearest, dim, position);
    return place;
  }
  const int64_t limit = dim.in - 1;
  position = std::clamp(position, 0.0f, static_cast<float>(limit));
  const int64_t first = static_cast<int64_t>(std::floor(position - 1)) + 1;
  const auto weight = [&](int64_t k) {
    const float t = std::fabs(static_cast<float>(k) - position);
    return t < 1 ? 1 - t : 0;
  };
  place.first = std::clamp<int64_t>(first, 0, limit);
  place.second = std::clamp<int64_t>(first + 1, 0, limit);
  place.first_weight = weight(first);
  place.second_weight = weight(first + 1);
  return place;
}

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(const Problem& problem)
      : params_(params_of(problem)), layout_(problem.outputs[0].type.layout),
        element_(static_cast<int64_t>(element_bytes(problem.outputs[0].type.dtype))) {
    for (size_t i = 0; i < problem.inputs.size() && i < kInputs; ++i) {
      present_[i] = problem.inputs[i].present;
      dtypes_[i] = problem.inputs[i].type.dtype;
    }
    inputs_ = std::min(problem.inputs.size(), kInputs);
  }

  Status run(const KernelArgs& args) noexcept override {
    std::array<OpInput, kInputs> values;
    for (size_t i = 0; i < inputs_; ++i)
      values[i] = {dtypes_[i], args.input_shapes[i], i == 0 ? nullptr : args.inputs[i], present_[i]};
    ResizePlan plan;
    INGOT_TRY(make_resize_plan(params_, std::span(values).first(inputs_), true, plan));
    if (!(plan.shape == args.output_shapes[0]))
      return refuse("resize", "output shape differs from what the inputs give", to_string(args.output_shapes[0]), to_string(plan.shape),
                    StatusCode::kInvalidArgument);
    if (plan.shape.elements() == 0) return {};
    Walk walk;
    walk.in = memory_shape(args.input_shapes[0], plan.rank, layout_);
    walk.out = memory_shape(plan.shape, plan.rank, layout_);
    auto* places = static_cast<Place*>(args.workspace);
    for (int d = 0; d < plan.rank; ++d) {
      const bool turned = layout_ == Layout::kChannelsLast && plan.rank >= 3;
      const int model = !turned || d == 0 ? d : d + 1 < plan.rank ? d + 1 : 1;
      walk.places[static_cast<size_t>(d)] = places;
      for (int64_t i = 0; i < walk.out[d]; ++i) *places++ = place_of(params_, plan.dims[static_cast<size_t>(model)], i);
      walk.kept[static_cast<size_t>(d)] = walk.in[d] == walk.out[d] && !moves(walk.places[static_cast<size_t>(d)], walk.out[d]);
    }
    // Dims at the end that stay as they are make one block; the rows of the dim before it are what threads share.
    walk.rank = plan.rank;
    while (walk.rank > 0 && walk.kept[static_cast<size_t>(walk.rank - 1)]) walk.block *= walk.out[--walk.rank];
    if (walk.rank == 0) walk.out = Shape{1}, walk.in = Shape{1}, walk.rank = 1, walk.places[0] = &kOnly;
    const int64_t row = walk.out[walk.rank - 1], rows = Shape::of(walk.out.span().first(static_cast<size_t>(walk.rank - 1))).elements();
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(1, row * walk.block * element_));
    args.pool->parallel_for(rows, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        if (params_.mode != ResizeMode::kNearest) mix_row(walk, r, static_cast<const float*>(args.inputs[0]), static_cast<float*>(args.outputs[0]));
        else if (walk.block * element_ == 1) move_row<uint8_t>(walk, r, args);
        else if (walk.block * element_ == 4) move_row<uint32_t>(walk, r, args);
        else copy_row(walk, r, static_cast<const std::byte*>(args.inputs[0]), static_cast<std::byte*>(args.outputs[0]));
      }
    });
    return {};
  }

 private:
  static constexpr size_t kInputs = 4;
  static constexpr Place kOnly{};
  struct Walk {
    Shape in, out;  // in the order of memory
    int rank = 0;   // without the dims of the block
    int64_t block = 1;
    std::array<const Place*, Shape::kMaxRank> places{};
    std::array<bool, Shape::kMaxRank> kept{};
  };
  static bool moves(const Place* places, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      if (places[i].first != i || (places[i].second_weight != 0 && places[i].second != i) || places[i].first_weight != 1) return true;
    return false;
  }

  // Input row behind output row r, taking the second neighbour of the dims in `second` (a bit each), and the weight of that.
  static int64_t input_row(const Walk& walk, int64_t r, unsigned second, float* weight) {
    int64_t at = 0, stride = 1;
    float w = 1;
    for (int d = walk.rank - 2; d >= 0; --d) {
      const Place& place = walk.places[static_cast<size_t>(d)][r % walk.out[d]];
      r /= walk.out[d];
      const bool takes_second = second >> d & 1;
      at += stride * (takes_second ? place.second : place.first);
      stride *= walk.in[d];
      if (weight) w *= takes_second ? place.second_weight : place.first_weight;
    }
    if (weight) *weight = w;
    return at;
  }

  void copy_row(const Walk& walk, int64_t r, const std::byte* x, std::byte* y) const {
    const int64_t row = walk.out[walk.rank - 1], bytes = walk.block * element_;
    const std::byte* from = x + input_row(walk, r, 0, nullptr) * walk.in[walk.rank - 1] * bytes;
    std::byte* to = y + r * row * bytes;
    const Place* places = walk.places[static_cast<size_t>(walk.rank - 1)];
    for (int64_t i = 0; i < row; ++i) std::memcpy(to + i * bytes, from + places[i].first * bytes, static_cast<size_t>(bytes));
  }
  template <class T>
  void move_row(const Walk& walk, int64_t r, const KernelArgs& args) const {
    const int64_t row = walk.out[walk.rank - 1];
    const T* from = static_cast<const T*>(args.inputs[0]) + input_row(walk, r, 0, nullptr) * walk.in[walk.rank - 1];
    T* to = static_cast<T*>(args.outputs[0]) + r * row;
    const Place* places = walk.places[static_cast<size_t>(walk.rank - 1)];
    for (int64_t i = 0; i < row; ++i) to[i] = from[places[i].first];
  }

  // Σ over the neighbours in outer dims of w · (mix of two neighbours in the last dim).
  void mix_row(const Walk& walk, int64_t r, const float* x, float* y) const {
    const int64_t row = walk.out[walk.rank - 1], in_row = walk.in[walk.rank - 1], block = walk.block;
    unsigned split = 0;  // dims with two neighbours here
    int64_t rest = r;
    for (int d = walk.rank - 2; d >= 0; --d) {
      const Place& place = walk.places[static_cast<size_t>(d)][rest % walk.out[d]];
      rest /= walk.out[d];
      if (place.second_weight != 0) split |= 1u << d;
    }
    const Place* places = walk.places[static_cast<size_t>(walk.rank - 1)];
    float* to = y + r * row * block;
    if (split & (split - 1)) return mix_rows(walk, r, split, x, y);
    float w[2] = {1, 0};
    const float* from[2];
    from[0] = x + input_row(walk, r, 0, &w[0]) * in_row * block;
    from[1] = split ? x + input_row(walk, r, split, &w[1]) * in_row * block : from[0];
    if (!split) w[0] = 1;
    for (int64_t i = 0; i < row; ++i) {
      const Place& p = places[i];
      if (split) mix_two(from[0] + p.first * block, from[0] + p.second * block, from[1] + p.first * block, from[1] + p.second * block, p, w, to + i * block, block);
      else mix_one(from[0] + p.first * block, from[0] + p.second * block, p, to + i * block, block);
    }
  }

  // The rare row between elements of several dims, as of a scale of 1.1 that leaves the channels as many as they were.
  void mix_rows(const Walk& walk, int64_t r, unsigned split, const float* x, float* y) const {
    const int64_t row = walk.out[walk.rank - 1], in_row = walk.in[walk.rank - 1], block = walk.block;
    float* to = y + r * row * block;
    std::fill_n(to, row * block, 0.0f);
    for (unsigned taken = split;; taken = (taken - 1) & split) {
      float w = 1;
      const float* from = x + input_row(walk, r, taken, &w) * in_row * block;
      for (int64_t i = 0; i < row; ++i) {
        const Place& p = walk.places[static_cast<size_t>(walk.rank - 1)][i];
        for (int64_t c = 0; c < block; ++c)
          to[i * block + c] += w * (from[p.first * block + c] * p.first_weight + from[p.second * block + c] * p.second_weight);
      }
      if (taken == 0) return;
    }
  }

  // Four lanes where the block allows.
  typedef float Lanes __attribute__((vector_size(16)));
  static Lanes load(const float* p) {
    Lanes v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static void mix_one(const float* a, const float* b, const Place& p, float* y, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const Lanes v = load(a + i) * p.first_weight + load(b + i) * p.second_weight;
      std::memcpy(y + i, &v, sizeof v);
    }
    for (; i < n; ++i) y[i] = a[i] * p.first_weight + b[i] * p.second_weight;
  }
  static void mix_two(const float* a, const float* b, const float* c, const float* d, const Place& p, const float* w, float* y, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
      const Lanes top = load(a + i) * p.first_weight + load(b + i) * p.second_weight;
      const Lanes bottom = load(c + i) * p.first_weight + load(d + i) * p.second_weight;
      const Lanes v = top * w[0] + bottom * w[1];
      std::memcpy(y + i, &v, sizeof v);
    }
    for (; i < n; ++i)
      y[i] = (a[i] * p.first_weight + b[i] * p.second_weight) * w[0] + (c[i] * p.first_weight + d[i] * p.second_weight) * w[1];
  }

  ResizeParams params_;
  Layout layout_;
  int64_t element_;
  std::array<bool, kInputs> present_{};
  std::array<DataType, kInputs> dtypes_{};
  size_t inputs_ = 0;
};

class ResizeTactic final : public Tactic {
 public:
  ResizeTactic(ResizeMode mode, std::string_view name) : mode_(mode), info_{name, 1, OpKind::kResize} {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override {
    const ResizeParams& params = params_of(problem);
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (params.mode != mode_) return {"another mode"};
    if (x.dtype != y.dtype || x.layout != y.layout) return {"type or layout of input and output differ"};
    if (params.coordinates == ResizeCoordinates::kTfCropAndResize) return {"coordinates tf_crop_and_resize"};
    if (mode_ == ResizeMode::kNearest) return {};
    if (x.dtype != DataType::kF32) return {"input is not f32"};
    if (params.antialias || params.exclude_outside) return {"antialias or exclude_outside"};
    const int rank = x.shape.rank;
    if (rank != 3 && rank != 4) return {"not one or two spatial dims"};
    for (int d = 0; d < 2; ++d)
      if (x.shape[d] != y.shape[d]) return {"batch or channels are resized"};
    if (params.coordinates == ResizeCoordinates::kTfHalfPixelForNearest) return {"coordinates tf_half_pixel_for_nn"};
    return {};
  }
  size_t workspace_bytes(const Problem& problem) const override {
    int64_t places = 0;
    for (int d = 0; d < problem.outputs[0].max_shape.rank; ++d) places += problem.outputs[0].max_shape[d];
    return static_cast<size_t>(places) * sizeof(Place);
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "resize: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<ResizeKernel>(problem));
  }

 private:
  ResizeMode mode_;
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> resize_move() {
  static const ResizeTactic nearest(ResizeMode::kNearest, "cpu.resize.nearest"), linear(ResizeMode::kLinear, "cpu.resize.linear.f32");
  static const std::array<const Tactic*, 2> list = {&nearest, &linear};
  return list;
}

}  // namespace ingot::cpu
