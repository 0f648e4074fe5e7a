// Reference RoiPool: the largest pixel of each cell.
#include "runtime/ops/roi_pool.h"

#include <algorithm>
#include <cmath>

#include "runtime/ops/element.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "roi_pool";
constexpr double kFarthest = 1 << 30;  // pixels; keeps whole numbers exact

// A box along one direction.
struct Side {
  int64_t start = 0, length = 1, cells = 1, size = 0;
  // The pixels of one cell, cut to the picture.
  std::pair<int64_t, int64_t> pixels(int64_t cell) const {
    const int64_t low = cell * length / cells, high = ((cell + 1) * length + cells - 1) / cells;
    return {std::clamp<int64_t>(start + low, 0, size), std::clamp<int64_t>(start + high, 0, size)};
  }
};
Side side_of(double low, double high, int64_t cells, int64_t size, double scale) {
  const auto place = [&](double v) { return saturate_cast<int64_t>(std::clamp(std::round(v * scale), -kFarthest, kFarthest)); };
  Side side{place(low), 1, cells, size};
  side.length = std::max<int64_t>(place(high) - side.start + 1, 1);
  return side;
}

}  // namespace

Status infer_types(const RoiPoolParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  const Shape &x = inputs[0].shape, &boxes = inputs[1].shape;
  if (!with_float_type(inputs[0].dtype, [](auto) {}))
    return refuse(kOp, "element type", to_string(inputs[0].dtype), "a float", StatusCode::kUnsupported);
  if (inputs[1].dtype != inputs[0].dtype) return refuse(kOp, "type of the boxes", to_string(inputs[1].dtype), to_string(inputs[0].dtype));
  if (x.rank != 4) return refuse(kOp, "rank of input", std::to_string(x.rank), "4");
  if (boxes.rank != 2 || boxes[1] != 5) return refuse(kOp, "shape of the boxes", to_string(boxes), "rank 2, last dim 5");
  if (params.height < 1 || params.width < 1 || params.height > INT32_MAX || params.width > INT32_MAX)
    return refuse(kOp, "size of the result", std::to_string(params.height) + "x" + std::to_string(params.width), "1x1 or more");
  return set_output(kOp, outputs[0], inputs[0].dtype, Shape{boxes[0], x[1], params.height, params.width});
}

Status run_reference(const RoiPoolParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  const Shape &x = inputs[0].type->shape, &y = outputs[0].type->shape;
  Status status;
  with_float_type(inputs[0].type->dtype, [&]<class T>(T) {
    T* to = outputs[0].as<T>();
    for (int64_t r = 0; r < y[0]; ++r) {
      const auto number = [&](int i) { return static_cast<double>(load_element(inputs[1].as<T>()[r * 5 + i])); };
      if (!(number(0) >= 0 && number(0) < static_cast<double>(x[0]))) {
        status = refuse(kOp, "batch index of box " + std::to_string(r), std::to_string(number(0)), "0 to " + std::to_string(x[0] - 1),
                        StatusCode::kInvalidArgument);
        return;
      }
      const Side right = side_of(number(1), number(3), params.width, x[3], params.spatial_scale);
      const Side down = side_of(number(2), number(4), params.height, x[2], params.spatial_scale);
      for (int64_t c = 0; c < x[1]; ++c) {
        const T* plane = inputs[0].as<T>() + (static_cast<int64_t>(number(0)) * x[1] + c) * x[2] * x[3];
        for (int64_t h = 0; h < params.height; ++h)
          for (int64_t w = 0; w < params.width; ++w) {
            const auto [top, bottom] = down.pixels(h);
            const auto [left, end] = right.pixels(w);
            bool is_first = true;
            T best{};
            for (int64_t i = top; i < bottom; ++i)
              for (int64_t j = left; j < end; ++j) {
                const T pixel = plane[i * x[3] + j];
                if (is_first || load_element(pixel) > load_element(best)) best = pixel;
                is_first = false;
              }
            *to++ = best;
          }
      }
    }
  });
  return status;
}

}  // namespace ingot
