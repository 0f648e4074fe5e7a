// Reference MaxUnpool and Col2Im: clear the result, then put each element where it belongs.
#include "runtime/ops/unfold.h"

#include <cstring>

#include "runtime/ops/element.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

void clear(const TensorRef& tensor) {
  if (const int64_t bytes = tensor.type->bytes(); bytes > 0) std::memset(tensor.data, 0, static_cast<size_t>(bytes));
}

// One spatial dim of Col2Im: block positions and the picture they cover.
struct Blocks {
  int64_t image = 0, block = 0, stride = 1, dilation = 1, pad = 0, count = 0;
};
struct BlockList {
  int dims = 0;
  std::array<Blocks, Shape::kMaxRank> dim;
  int64_t block_size = 1, places = 1, image_size = 1;
};

Status read_blocks(const Col2ImParams& params, const OpInput& image, const OpInput& block, BlockList& list) {
  constexpr std::string_view kOp = "col2im";
  IndexList image_dims, block_dims;
  INGOT_TRY(read_index_list(kOp, "image dims", image, Shape::kMaxRank - 2, image_dims));
  INGOT_TRY(read_index_list(kOp, "block dims", block, Shape::kMaxRank - 2, block_dims));
  if (image_dims.count == 0 || block_dims.count != image_dims.count)
    return refuse(kOp, "number of block dims", std::to_string(block_dims.count),
                  image_dims.count == 0 ? "1 or more" : std::to_string(image_dims.count));
  list.dims = image_dims.count;
  INGOT_TRY(check_window_attributes("col2im", list.dims, params.strides, params.pads, params.dilations));
  for (int i = 0; i < list.dims; ++i) {
    Blocks& d = list.dim[static_cast<size_t>(i)];
    d.image = image_dims[i];
    d.block = block_dims[i];
    d.stride = attribute(params.strides, i, 1);
    d.dilation = attribute(params.dilations, i, 1);
    d.pad = attribute(params.pads, i, 0);
    if (d.image < 1 || d.block < 1 || d.image > INT32_MAX || d.block > INT32_MAX)
      return refuse(kOp, "image or block dim " + std::to_string(i), std::to_string(std::min(d.image, d.block)), "1 to 2147483647");
    const int64_t room = d.image + d.pad + attribute(params.pads, i + list.dims, 0) - ((d.block - 1) * d.dilation + 1);
    if (room < 0) return refuse(kOp, "block larger than dim " + std::to_string(i), std::to_string(d.block), "one that fits");
    d.count = room / d.stride + 1;
    if (__builtin_mul_overflow(list.block_size, d.block, &list.block_size) || __builtin_mul_overflow(list.places, d.count, &list.places) ||
        __builtin_mul_overflow(list.image_size, d.image, &list.image_size))
      return refuse(kOp, "size of the picture", "too many elements", "fewer than 2^59");
  }
  return {};
}

}  // namespace

Status infer_types(const MaxUnpoolParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "max_unpool";
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs));
  const Shape& x = inputs[0].shape;
  if (inputs[1].dtype != DataType::kS64) return refuse(kOp, "type of the indices", to_string(inputs[1].dtype), "s64");
  if (!(inputs[1].shape == x)) return refuse(kOp, "shape of the indices", to_string(inputs[1].shape), to_string(x));
  if (x.rank < 3) return refuse(kOp, "rank of input", std::to_string(x.rank), "3 or more");
  const int n = x.rank - 2;
  if (params.kernel.size() != static_cast<size_t>(n))
    return refuse(kOp, "length of kernel", std::to_string(params.kernel.size()), std::to_string(n));
  INGOT_TRY(check_window_attributes("max_unpool", n, params.strides, params.pads, {}));
  Shape to = x;
  for (int i = 0; i < n; ++i) {
    const int64_t kernel = params.kernel[static_cast<size_t>(i)], stride = attribute(params.strides, i, 1);
    if (kernel < 1 || kernel > INT32_MAX || x[i + 2] > INT32_MAX)
      return refuse(kOp, "kernel or dim", std::to_string(std::max(kernel, x[i + 2])), "1 to 2147483647");
    to[i + 2] = x[i + 2] == 0 ? 0 : (x[i + 2] - 1) * stride - attribute(params.pads, i, 0) - attribute(params.pads, i + n, 0) + kernel;
  }
  return set_output(kOp, outputs[0], inputs[0].dtype, to);
}

Status run_reference(const MaxUnpoolParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  constexpr std::string_view kOp = "max_unpool";
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  clear(outputs[0]);
  const auto bytes = element_bytes(inputs[0].type->dtype);
  const int64_t count = inputs[0].type->shape.elements(), most = outputs[0].type->shape.elements();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t place = inputs[1].as<int64_t>()[i];
    if (place < 0 || place >= most)
      return refuse(kOp, "index " + std::to_string(i) + " out of range", std::to_string(place), "0 to " + std::to_string(most - 1),
                    StatusCode::kInvalidArgument);
    std::memcpy(outputs[0].as<std::byte>() + static_cast<size_t>(place) * bytes,
                inputs[0].as<std::byte>() + static_cast<size_t>(i) * bytes, bytes);
  }
  return {};
}

Status infer_types(const Col2ImParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  constexpr std::string_view kOp = "col2im";
  INGOT_TRY(check_arity(kOp, inputs, 3, 3, outputs));
  const Shape& x = inputs[0].shape;
  const DataType type = inputs[0].dtype;
  if (type == DataType::kBool || is_small_float(type))
    return refuse(kOp, "element type", to_string(type), "a number", StatusCode::kUnsupported);
  if (x.rank != 3) return refuse(kOp, "rank of input", std::to_string(x.rank), "3");
  BlockList list;
  INGOT_TRY(read_blocks(params, inputs[1], inputs[2], list));
  if (x[2] != list.places) return refuse(kOp, "number of blocks", std::to_string(x[2]), std::to_string(list.places));
  if (x[1] % list.block_size != 0)
    return refuse(kOp, "dim 1 of input", std::to_string(x[1]), "a multiple of the block size " + std::to_string(list.block_size));
  Shape to{x[0], x[1] / list.block_size};
  for (int i = 0; i < list.dims; ++i) INGOT_TRY(append_dim(kOp, to, list.dim[static_cast<size_t>(i)].image));
  return set_output(kOp, outputs[0], type, to);
}

// y[n, c, at] += x[n, c · block + k, l] with at = l · stride + k · dilation − pad in each dim.
Status run_reference(const Col2ImParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run("col2im", params, inputs, outputs));
  BlockList list;
  INGOT_TRY(read_blocks(params, as_input(inputs[1]), as_input(inputs[2]), list));
  clear(outputs[0]);
  const Shape& x = inputs[0].type->shape;
  // The pixel of element k of block l, −1 in the padding.
  const auto pixel_of = [&](int64_t k, int64_t l) {
    int64_t pixel = 0, stride = 1;
    for (int i = list.dims - 1; i >= 0; --i) {
      const Blocks& d = list.dim[static_cast<size_t>(i)];
      const int64_t at = l % d.count * d.stride + k % d.block * d.dilation - d.pad;
      if (at < 0 || at >= d.image) return int64_t{-1};
      pixel += at * stride;
      stride *= d.image;
      l /= d.count;
      k /= d.block;
    }
    return pixel;
  };
  const auto run = [&]<class T>(T) {
    const int64_t planes = x[0] * x[1] / list.block_size;
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t k = 0; k < list.block_size; ++k)
        for (int64_t l = 0; l < list.places; ++l) {
          const int64_t pixel = pixel_of(k, l);
          if (pixel < 0) continue;
          T& sum = outputs[0].as<T>()[plane * list.image_size + pixel];
          const T value = inputs[0].as<T>()[(plane * list.block_size + k) * list.places + l];
          if constexpr (std::is_integral_v<T>) sum = static_cast<T>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(value));
          else sum = store_float<T>(load_element(sum) + load_element(value));
        }
  };
  if (!with_float_type(inputs[0].type->dtype, run)) with_integer_type(inputs[0].type->dtype, run);
  return {};
}

}  // namespace ingot
