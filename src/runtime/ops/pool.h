// Max, average and Lp pooling over 1 to 3 spatial dims; `global` pools each channel whole and ignores the window fields.
// Input x [N,C,spatial…]; outputs y and, for max, optional indices (s64). Padding never wins a maximum.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/ops/conv.h"
#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

enum class PoolFunction : int64_t { kMax, kAverage, kLp, kCount };
std::string_view to_string(PoolFunction function);

struct PoolParams {
  PoolFunction function = PoolFunction::kMax;
  bool global = false;
  std::vector<int64_t> kernel, strides, pads, dilations;
  AutoPad auto_pad = AutoPad::kNotSet;
  bool ceil_mode = false, count_include_pad = false;
  int64_t storage_order = 0, p = 2;
  INGOT_FIELDS(function, global, kernel, strides, pads, dilations, auto_pad, ceil_mode, count_include_pad, storage_order, p)
};

PadPair pool_pads(const PoolParams& params, int i, int spatial_dims, int64_t in);

Status infer_types(const PoolParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const PoolParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
