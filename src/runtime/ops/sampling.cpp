// Reference GridSample and RoiAlign: each result visits its taps, products of one weight for each dim.
#include "runtime/ops/sampling.h"

#include <cmath>

#include "runtime/ops/element.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr int kMaxDims = 3, kMaxTaps = 4;
constexpr int64_t kMaxSamples = int64_t{1} << 24;  // of one RoiAlign cell

constexpr std::array<std::string_view, static_cast<size_t>(GridSampleMode::kCount)> kModes = {"linear", "nearest", "cubic"};
constexpr std::array<std::string_view, static_cast<size_t>(GridSamplePadding::kCount)> kPaddings = {"zeros", "border", "reflection"};

// Mirrors v into [low, high] as often as it takes.
double reflect(double v, double low, double high) {
  const double range = high - low;
  if (!(range > 0) || !std::isfinite(v)) return low;
  const double away = std::fabs(v < low ? low - v : v - low), turn = std::fmod(away, 2 * range);
  return turn <= range ? low + turn : high - (turn - range);
}

// One dim of a grid place: the pixels it reads (−1: outside, reads 0) and their weights.
struct Taps {
  int count = 1;
  std::array<int64_t, kMaxTaps> place{};
  std::array<double, kMaxTaps> weight{};
};

// A whole coordinate as a pixel.
int64_t pixel_of(double at, int64_t size, const GridSampleParams& params) {
  const auto last = static_cast<double>(size - 1);
  if (at >= 0 && at <= last) return static_cast<int64_t>(at);
  switch (params.padding) {
    case GridSamplePadding::kBorder: return at > 0 ? size - 1 : 0;
    case GridSamplePadding::kReflection: {
      const double mirrored = params.align_corners ? reflect(at, 0, last) : reflect(at, -0.5, last + 0.5);
      return static_cast<int64_t>(std::clamp(mirrored, 0.0, last));
    }
    default: return -1;
  }
}

void cubic_weights(double t, std::array<double, kMaxTaps>& weight) {
  constexpr double a = -0.75;
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  weight = {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// g: −1 … 1. The coordinate is worked out in the type of the grid, so that ties are those of the model's arithmetic.
template <class A>
Taps taps_of(A g, int64_t size, const GridSampleParams& params) {
  const A length = static_cast<A>(size);
  A coordinate = params.align_corners ? (g + 1) / 2 * (length - 1) : ((g + 1) * length - 1) / 2;
  if (coordinate != coordinate) coordinate = -1;
  // Far outside, all places are alike; nearer ones convert to integers safely.
  double at = std::clamp(static_cast<double>(coordinate), -0x1p40, 0x1p40);
  const double last = static_cast<double>(size - 1), low = params.align_corners ? 0 : -0.5, high = params.align_corners ? last : last + 0.5;
  if (params.mode == GridSampleMode::kNearest) at = std::nearbyint(at);
  if (at < low || at > high) {
    // Cubic taps beyond the border are clamped one by one, the place itself is not.
    if (params.padding == GridSamplePadding::kBorder && params.mode != GridSampleMode::kCubic) at = std::clamp(at, 0.0, last);
    if (params.padding == GridSamplePadding::kReflection) at = reflect(at, low, high);
  }
  Taps taps;
  const double base = params.mode == GridSampleMode::kNearest ? std::nearbyint(at) : std::floor(at);
  int before = 0;
  switch (params.mode) {
    case GridSampleMode::kNearest: taps.weight[0] = 1; break;
    case GridSampleMode::kCubic:
      taps.count = 4;
      before = 1;
      cubic_weights(at - base, taps.weight);
      break;
    default:
      taps.count = 2;
      taps.weight = {1 - (at - base), at - base};
  }
  for (int k = 0; k < taps.count; ++k) taps.place[static_cast<size_t>(k)] = pixel_of(base + k - before, size, params);
  return taps;
}

}  // namespace

std::string_view to_string(GridSampleMode mode) {
  return mode < GridSampleMode::kCount ? kModes[static_cast<size_t>(mode)] : std::string_view("none");
}
std::string_view to_string(GridSamplePadding padding) {
  return padding < GridSamplePadding::kCount ? kPaddings[static_cast<size_t>(padding)] : std::string_view("none");
}

Status infer_types(const GridSampleParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "grid_sample";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  const Shape &x = inputs[0].shape, &grid = inputs[1].shape;
  for (size_t i : {0, 1})
    if (!with_float_type(inputs[i].dtype, [](auto) {}))
      return refuse(kOp, "element type of input " + std::to_string(i), to_string(inputs[i].dtype), "a float", StatusCode::kUnsupported);
  if (x.rank != 4 && x.rank != 5) return refuse(kOp, "rank of input", std::to_string(x.rank), "4 or 5", StatusCode::kUnsupported);
  if (params.mode >= GridSampleMode::kCount || params.padding >= GridSamplePadding::kCount)
    return refuse(kOp, "mode or padding", "an unknown one", "one of the list");
  if (params.mode == GridSampleMode::kCubic && x.rank != 4)
    return refuse(kOp, "rank of input of cubic sampling", std::to_string(x.rank), "4", StatusCode::kUnsupported);
  if (grid.rank != x.rank || grid[grid.rank - 1] != x.rank - 2 || grid[0] != x[0])
    return refuse(kOp, "shape of the grid", to_string(grid),
                  "batch " + std::to_string(x[0]) + ", rank " + std::to_string(x.rank) + ", last dim " + std::to_string(x.rank - 2));
  Shape to = x;
  int64_t places = 1;
  for (int i = 2; i < x.rank; ++i) places *= to[i] = grid[i - 1];
  for (int i = 2; i < x.rank; ++i)
    if (x[i] == 0 && places != 0) return refuse(kOp, "spatial dim " + std::to_string(i - 2), "0", "1 or more");
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const GridSampleParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("grid_sample", params, inputs, outputs));
  const Shape &x = inputs[0].type->shape, &y = outputs[0].type->shape;
  const int dims = x.rank - 2;
  int64_t places = 1, pixels = 1;
  for (int i = 2; i < x.rank; ++i) places *= y[i], pixels *= x[i];
  const auto sample = [&]<class T, class G>(const T* source, const G* grid, T* target) {
    std::array<Taps, kMaxDims> taps;  // missing leading dims keep one tap at place 0
    for (Taps& t : taps) t.weight[0] = 1;
    std::array<int64_t, kMaxDims> size = {1, 1, 1};
    for (int i = 0; i < dims; ++i) size[static_cast<size_t>(kMaxDims - dims + i)] = x[i + 2];
    for (int64_t n = 0; n < x[0]; ++n)
      for (int64_t p = 0; p < places; ++p) {
        for (int i = 0; i < dims; ++i) {
          const auto d = static_cast<size_t>(kMaxDims - 1 - i);  // the grid names the last dim first
          taps[d] = taps_of(load_element(grid[(n * places + p) * dims + i]), size[d], params);
        }
        for (int64_t c = 0; c < x[1]; ++c) {
          const T* plane = source + (n * x[1] + c) * pixels;
          double sum = 0;
          for (size_t i = 0; i < static_cast<size_t>(taps[0].count); ++i)
            for (size_t j = 0; j < static_cast<size_t>(taps[1].count); ++j)
              for (size_t k = 0; k < static_cast<size_t>(taps[2].count); ++k) {
                const int64_t d = taps[0].place[i], h = taps[1].place[j], w = taps[2].place[k];
                if (d < 0 || h < 0 || w < 0) continue;
                sum += taps[0].weight[i] * taps[1].weight[j] * taps[2].weight[k] *
                       static_cast<double>(load_element(plane[(d * size[1] + h) * size[2] + w]));
              }
          target[(n * x[1] + c) * places + p] = store_float<T>(sum);
        }
      }
  };
  with_float_type(inputs[0].type->dtype, [&]<class T>(T) {
    with_float_type(inputs[1].type->dtype, [&]<class G>(G) { sample(inputs[0].as<T>(), inputs[1].as<G>(), outputs[0].as<T>()); });
  });
  return {};
}

namespace {

// The four neighbours of a place and their weights; outside by more than a pixel: no weight at all.
struct Neighbours {
  std::array<int64_t, 4> place{};
  std::array<double, 4> weight{};
};
struct Line {
  int64_t low = 0, high = 0;
  double fraction = 0;
};
Line line_of(double at, int64_t size) {
  at = std::max(at, 0.0);
  const auto low = static_cast<int64_t>(at);
  if (low >= size - 1) return {size - 1, size - 1, 0};
  return {low, low + 1, at - static_cast<double>(low)};
}
Neighbours neighbours_of(double y, double x, int64_t height, int64_t width) {
  Neighbours result;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return result;
  const Line v = line_of(y, height), h = line_of(x, width);
  result.place = {v.low * width + h.low, v.low * width + h.high, v.high * width + h.low, v.high * width + h.high};
  result.weight = {(1 - v.fraction) * (1 - h.fraction), (1 - v.fraction) * h.fraction, v.fraction * (1 - h.fraction),
                   v.fraction * h.fraction};
  return result;
}

// A box along one direction: where its cells start, their size, and how many samples each has.
struct Side {
  double start = 0, cell = 0;
  int64_t samples = 0;
  double at(int64_t cell_index, int64_t sample) const {
    return start + static_cast<double>(cell_index) * cell + (static_cast<double>(sample) + 0.5) * cell / static_cast<double>(samples);
  }
};
Side side_of(double low, double high, int64_t cells, const RoiAlignParams& params) {
  const double shift = params.half_pixel ? 0.5 : 0;
  Side side;
  side.start = low * params.spatial_scale - shift;
  double length = high * params.spatial_scale - shift - side.start;
  if (!params.half_pixel) length = std::max(length, 1.0);
  side.cell = length / static_cast<double>(cells);
  side.samples = params.sampling_ratio > 0 ? params.sampling_ratio : std::max<int64_t>(0, saturate_cast<int64_t>(std::ceil(side.cell)));
  return side;
}

}  // namespace

Status infer_types(const RoiAlignParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "roi_align";
  INGOT_TRY(check_arity(kOp, inputs, 3, 3, outputs));
  const Shape &x = inputs[0].shape, &boxes = inputs[1].shape;
  if (!with_float_type(inputs[0].dtype, [](auto) {}))
    return refuse(kOp, "element type", to_string(inputs[0].dtype), "a float", StatusCode::kUnsupported);
  if (inputs[1].dtype != inputs[0].dtype)
    return refuse(kOp, "type of the boxes", to_string(inputs[1].dtype), to_string(inputs[0].dtype));
  if (inputs[2].dtype != DataType::kS64 && inputs[2].dtype != DataType::kS32)
    return refuse(kOp, "type of the batch indices", to_string(inputs[2].dtype), "s64 or s32");
  if (x.rank != 4) return refuse(kOp, "rank of input", std::to_string(x.rank), "4");
  if (boxes.rank != 2 || boxes[1] != 4) return refuse(kOp, "shape of the boxes", to_string(boxes), "rank 2, last dim 4");
  if (!(inputs[2].shape == Shape{boxes[0]}))
    return refuse(kOp, "shape of the batch indices", to_string(inputs[2].shape), std::to_string(boxes[0]));
  if (params.height < 1 || params.width < 1)
    return refuse(kOp, "size of the result", std::to_string(params.height) + "x" + std::to_string(params.width), "1x1 or more");
  if (params.sampling_ratio < 0 || params.sampling_ratio > 4096)
    return refuse(kOp, "sampling_ratio", std::to_string(params.sampling_ratio), "0 to 4096");
  if (boxes[0] > 0 && (x[2] < 1 || x[3] < 1)) return refuse(kOp, "picture", to_string(x), "one with pixels");
  return set_output(kOp, outputs[0], inputs[0].dtype, Shape{boxes[0], x[1], params.height, params.width});
}

Status run_reference(const RoiAlignParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "roi_align";
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  const Shape &x = inputs[0].type->shape, &y = outputs[0].type->shape;
  const OpInput batches = as_input(inputs[2]);
  const int64_t cells = params.height * params.width;
  Status status;
  const auto pool = [&]<class T>(T) {
    for (int64_t r = 0; r < y[0] && status.ok(); ++r) {
      const int64_t batch = read_index(batches, r);
      if (batch < 0 || batch >= x[0]) {
        status = refuse(kOp, "batch index " + std::to_string(r) + " out of range", std::to_string(batch),
                        "0 to " + std::to_string(x[0] - 1), StatusCode::kInvalidArgument);
        return;
      }
      const T* box = inputs[1].as<T>() + r * 4;
      const auto corner = [&](int i) { return static_cast<double>(load_element(box[i])); };
      const Side down = side_of(corner(1), corner(3), params.height, params), right = side_of(corner(0), corner(2), params.width, params);
      if (down.samples > 0 && right.samples > 0 && down.samples > kMaxSamples / right.samples) {
        status = refuse(kOp, "box " + std::to_string(r) + " too large", std::to_string(down.samples) + " rows of samples",
                        "fewer than 2^24 samples for each cell", StatusCode::kInvalidArgument);
        return;
      }
      // A box without width has no samples, however high it is.
      const int64_t sample_rows = right.samples > 0 ? down.samples : 0;
      for (int64_t cell = 0; cell < cells; ++cell)
        for (int64_t c = 0; c < x[1]; ++c) {
          const T* plane = inputs[0].as<T>() + (batch * x[1] + c) * x[2] * x[3];
          double sum = 0, best = 0;
          bool first = true;
          for (int64_t i = 0; i < sample_rows; ++i)
            for (int64_t j = 0; j < right.samples; ++j) {
              const Neighbours around =
                  neighbours_of(down.at(cell / params.width, i), right.at(cell % params.width, j), x[2], x[3]);
              for (size_t k = 0; k < 4; ++k) {
                const double value = around.weight[k] * static_cast<double>(load_element(plane[around.place[k]]));
                sum += value;
                best = first ? value : std::max(best, value);
                first = false;
              }
            }
          const double count = static_cast<double>(std::max<int64_t>(sample_rows * right.samples, 1));
          outputs[0].as<T>()[(r * x[1] + c) * cells + cell] = store_float<T>(params.max ? best : sum / count);
        }
    }
  };
  with_float_type(inputs[0].type->dtype, pool);
  return status;
}

}  // namespace ingot
