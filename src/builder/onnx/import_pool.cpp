// Pooling over windows and over whole channels, and LRN, which is an average over neighbouring channels.
#include "builder/onnx/shared_attributes.h"

namespace ingot {
namespace {

PoolFunction pool_function(std::string_view op_type) {
  if (op_type.find("Max") != std::string_view::npos) return PoolFunction::kMax;
  return op_type.find("Lp") != std::string_view::npos ? PoolFunction::kLp : PoolFunction::kAverage;
}

}  // namespace

void import_pool(NodeImporter& node) {
  PoolParams params;
  params.function = pool_function(node.op_type());
  const ValueId x = node.required(0);
  params.kernel = node.integers("kernel_shape");
  if (params.kernel.empty()) node.invalid("attribute 'kernel_shape' is missing");
  params.strides = node.integers("strides");
  params.pads = node.integers("pads");
  params.dilations = node.integers("dilations");
  params.auto_pad = read_auto_pad(node);
  if (params.auto_pad != AutoPad::kNotSet) params.pads.clear();
  params.ceil_mode = node.flag("ceil_mode", false);
  if (params.function == PoolFunction::kAverage) params.count_include_pad = node.flag("count_include_pad", false);
  if (params.function == PoolFunction::kMax) params.storage_order = node.integer("storage_order", 0);
  if (params.function == PoolFunction::kLp) params.p = node.integer("p", 2);
  if (params.storage_order != 0 && params.storage_order != 1)
    node.invalid("attribute 'storage_order' is wrong: got " + std::to_string(params.storage_order) + ", need 0 or 1");
  // A window in the padding alone has nothing to pool.
  for (size_t i = 0; i < params.pads.size() && !params.kernel.empty(); ++i) {
    const size_t dim = i % params.kernel.size();
    const int64_t dilation = dim < params.dilations.size() ? params.dilations[dim] : 1, kernel = params.kernel[dim];
    if (dilation >= 1 && dilation <= INT32_MAX && kernel >= 1 && kernel <= INT32_MAX && params.pads[i] > (kernel - 1) * dilation)
      node.invalid("attribute 'pads' is as large as the kernel: got " + std::to_string(params.pads[i]) + ", need ≤ " +
                   std::to_string((kernel - 1) * dilation));
  }
  node.result(params, {x});
}

void import_global_pool(NodeImporter& node) {
  PoolParams params;
  params.function = pool_function(node.op_type());
  params.global = true;
  if (params.function == PoolFunction::kLp) params.p = node.integer("p", 2);
  node.result(params, {node.required(0)});
}

// y = x / (bias + alpha · mean of x² over `size` channels)^beta, the mean counting channels outside as 0.
void import_lrn(NodeImporter& node) {
  const double alpha = node.number("alpha", 1e-4f), beta = node.number("beta", 0.75), bias = node.number("bias", 1);
  const int64_t size = node.integer("size", 0);
  const ValueId x = node.required(0);
  if (size < 1 || size > 4096) node.invalid("attribute 'size' is wrong: got " + std::to_string(size) + ", need 1 to 4096");
  if (!node.ok()) return;
  if (node.rank(x) != 4 && node.rank(x) != 3)
    return node.unsupported("needs 3 or 4 dims: got " + std::to_string(node.rank(x)));
  const int window_dims = node.rank(x) - 1;
  // The channels become the first spatial dim of a single channel.
  const ValueId axis = node.integers_constant("axis", {1});
  PoolParams window;
  window.function = PoolFunction::kAverage;
  window.count_include_pad = true;
  window.kernel.assign(static_cast<size_t>(window_dims), 1);
  window.kernel[0] = size;
  window.pads.assign(static_cast<size_t>(2 * window_dims), 0);
  window.pads[0] = (size - 1) / 2;
  window.pads[static_cast<size_t>(window_dims)] = size / 2;
  const ValueId square = node.add(UnsqueezeParams{}, {node.binary(BinaryFunction::kMul, x, x), axis});
  const ValueId mean = node.add(SqueezeParams{}, {node.add(window, {square}), axis});
  const DataType dtype = node.dtype(x);
  const ValueId scaled = node.binary(BinaryFunction::kMul, mean, node.scalar_constant("alpha", dtype, alpha));
  const ValueId sum = node.binary(BinaryFunction::kAdd, scaled, node.scalar_constant("bias", dtype, bias));
  const ValueId power = node.binary(BinaryFunction::kPow, sum, node.scalar_constant("beta", dtype, beta));
  node.result(BinaryParams{BinaryFunction::kDiv, {}}, {x, power});
}

}  // namespace ingot
