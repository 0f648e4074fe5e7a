// Operators that sample pictures or put windows together: GridSample, AffineGrid, RoiAlign, MaxUnpool, Col2Im, CenterCropPad.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>

namespace ingot {
namespace {

constexpr int64_t kMostGridPlaces = int64_t{1} << 24;

}  // namespace

void import_grid_sample(NodeImporter& node) {
  GridSampleParams params;
  const size_t mode = node.choice("mode", node.version() < 20 ? "bilinear" : "linear", {"linear", "nearest", "cubic", "bilinear", "bicubic"});
  params.mode = mode == 3 ? GridSampleMode::kLinear : mode == 4 ? GridSampleMode::kCubic : static_cast<GridSampleMode>(mode);
  params.padding = static_cast<GridSamplePadding>(node.choice("padding_mode", "zeros", {"zeros", "border", "reflection"}));
  params.align_corners = node.flag("align_corners", false);
  node.result(params, {node.required(0), node.required(1)});
}

// The places of a regular raster, one row (x, y[, z], 1) each, times the transposed matrix theta.
void import_affine_grid(NodeImporter& node) {
  const ValueId theta = node.required(0), size = node.required(1);
  const bool align_corners = node.flag("align_corners", false);
  if (!node.ok()) return;
  const auto dims = node.constant_numbers(size, Shape::kMaxRank);
  if (!dims) return node.unsupported("the shape of the result depends on data: need a size that is constant");
  if (node.dtype(size) != DataType::kS64) return node.invalid("size has a wrong type: got " + std::string(to_string(node.dtype(size))) + ", need s64");
  const size_t n = dims->size() < 2 ? 0 : dims->size() - 2;
  if (n != 2 && n != 3) return node.invalid("wrong number of sizes: got " + std::to_string(dims->size()) + ", need 4 or 5");
  std::vector<int64_t> to = {static_cast<int64_t>((*dims)[0])};
  int64_t places = 1;
  for (size_t i = 0; i < n; ++i) {
    const double dim = (*dims)[i + 2];
    if (!(dim >= 0) || dim > static_cast<double>(kMostGridPlaces) || (places *= static_cast<int64_t>(dim)) > kMostGridPlaces)
      return node.unsupported("size is out of range: need at most 2^24 places");
    to.push_back(static_cast<int64_t>(dim));
  }
  to.push_back(static_cast<int64_t>(n));
  std::vector<float> rows(static_cast<size_t>(places) * (n + 1), 1);
  for (int64_t p = 0; p < places; ++p) {
    int64_t rest = p;
    for (size_t i = n; i-- > 0;) {  // the last dim comes first in a row
      const int64_t steps = to[i + 1], step = rest % steps;
      rest /= steps;
      const double at = static_cast<double>(step), count = static_cast<double>(steps);
      const double place = !align_corners ? (2 * at + 1) / count - 1 : steps == 1 ? -1 : 2 * at / (count - 1) - 1;
      rows[static_cast<size_t>(p) * (n + 1) + (n - 1 - i)] = static_cast<float>(place);
    }
  }
  const ValueId raster = node.reshape(node.floats_constant("raster", rows), {places, static_cast<int64_t>(n) + 1});
  MatMulParams product;
  product.transpose_b = true;
  const ValueId grid = node.add(product, {node.cast(raster, node.dtype(theta)), theta});
  node.result(ReshapeParams{true}, {grid, node.integers_constant("size", to)});
}

void import_roi_align(NodeImporter& node) {
  RoiAlignParams params;
  params.max = node.choice("mode", "avg", {"avg", "max"}) == 1;
  const std::string_view fallback = node.version() < 16 ? "output_half_pixel" : "half_pixel";
  params.half_pixel = node.choice("coordinate_transformation_mode", fallback, {"half_pixel", "output_half_pixel"}) == 0;
  params.height = node.integer("output_height", 1);
  params.width = node.integer("output_width", 1);
  params.sampling_ratio = node.integer("sampling_ratio", 0);
  params.spatial_scale = node.number("spatial_scale", 1);
  node.result(params, {node.required(0), node.required(1), node.required(2)});
}

void import_max_roi_pool(NodeImporter& node) {
  RoiPoolParams params;
  const std::vector<int64_t> size = node.integers("pooled_shape");
  if (size.size() != 2) node.invalid("attribute 'pooled_shape' is wrong: got " + std::to_string(size.size()) + " numbers, need 2");
  if (!node.ok()) return;
  params.height = size[0];
  params.width = size[1];
  params.spatial_scale = node.number("spatial_scale", 1);
  node.result(params, {node.required(0), node.required(1)});
}

// Indices name places in the shape that the window gives; a larger shape asked for only adds zeros behind.
void import_max_unpool(NodeImporter& node) {
  MaxUnpoolParams params;
  params.kernel = node.integers("kernel_shape");
  params.strides = node.integers("strides");
  params.pads = node.integers("pads");
  const ValueId x = node.required(0), indices = node.required(1), shape = node.input(2);
  const ValueId y = node.add(params, {x, indices});
  if (shape == kNone || !node.ok()) return node.alias(y);
  const auto wanted = node.constant_numbers(shape, Shape::kMaxRank);
  const Shape& made = node.type(y).shape;
  if (!wanted || !made.is_static()) return node.unsupported("the shape of the result depends on data: need a shape that is constant");
  if (static_cast<int>(wanted->size()) != made.rank)
    return node.invalid("wrong number of dims in the shape: got " + std::to_string(wanted->size()) + ", need " + std::to_string(made.rank));
  std::vector<int64_t> pads(2 * wanted->size(), 0);
  bool same = true;
  for (int i = 0; i < made.rank; ++i) {
    const double more = (*wanted)[static_cast<size_t>(i)] - static_cast<double>(made[i]);
    if (!(more >= 0) || more > INT32_MAX) return node.invalid("shape is smaller than the windows need: need at least " + to_string(made));
    pads[static_cast<size_t>(made.rank + i)] = static_cast<int64_t>(more);
    same = same && more == 0;
  }
  if (same) return node.alias(y);
  node.result(PadParams{}, {y, node.integers_constant("pads", pads)});
}

void import_col2im(NodeImporter& node) {
  Col2ImParams params;
  params.strides = node.integers("strides");
  params.pads = node.integers("pads");
  params.dilations = node.integers("dilations");
  node.result(params, {node.required(0), node.required(1), node.required(2)});
}

// Cut or padded on both sides to the wanted dims, the odd element at the end.
void import_center_crop_pad(NodeImporter& node) {
  const ValueId x = node.required(0), shape = node.required(1);
  std::vector<int64_t> axes = node.integers("axes");
  if (!node.ok()) return;
  const int rank = node.rank(x);
  if (!node.has_attribute("axes"))
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  const auto wanted = node.constant_numbers(shape, Shape::kMaxRank);
  if (!wanted) return node.unsupported("the shape of the result depends on data: need a shape that is constant");
  if (wanted->size() != axes.size())
    return node.invalid("wrong length of the shape: got " + std::to_string(wanted->size()) + ", need " + std::to_string(axes.size()));
  std::vector<int64_t> starts, ends, cut, pads(2 * static_cast<size_t>(rank), 0);
  bool padded = false;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t axis = node.axis(axes[k], rank);
    if (!node.ok()) return;
    const int64_t dim = node.type(x).shape[static_cast<int>(axis)];
    if (dim < 0) return node.unsupported("dim " + std::to_string(axis) + " varies: need a fixed one");
    if (!((*wanted)[k] >= 0) || (*wanted)[k] > INT32_MAX) return node.invalid("shape is out of range: need 0 to 2147483647");
    const auto target = static_cast<int64_t>((*wanted)[k]);
    if (target < dim) {
      starts.push_back((dim - target) / 2);
      ends.push_back((dim - target) / 2 + target);
      cut.push_back(axis);
    } else if (target > dim) {
      padded = true;
      pads[static_cast<size_t>(axis)] = (target - dim) / 2;
      pads[static_cast<size_t>(axis + rank)] = (target - dim) - (target - dim) / 2;
    }
  }
  ValueId y = x;
  if (!cut.empty())
    y = node.add(SliceParams{}, {y, node.integers_constant("starts", starts), node.integers_constant("ends", ends), node.integers_constant("axes", cut)});
  if (padded) y = node.add(PadParams{}, {y, node.integers_constant("pads", pads)});
  node.alias(y);
}

}  // namespace ingot
