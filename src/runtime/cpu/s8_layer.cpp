// Type checks and epilogue set-up of the 8-bit layers.
#include "runtime/cpu/s8_layer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/ops/element.h"
#include "runtime/ops/requantize.h"

namespace ingot::cpu {
const IgemmKernels& igemm_kernels(CpuLevel level) {
  switch (level) {
    case CpuLevel::kAvx2: return kIgemmAvx2;
    case CpuLevel::kAvxVnni: return kIgemmAvxVnni;
    case CpuLevel::kAvx512Vnni: return kIgemmAvx512Vnni;
    default: return kIgemmScalar;
  }
}

const ChannelwiseKernels& channelwise_kernels(CpuLevel level) {
  switch (level) {
    case CpuLevel::kAvx2: return kChannelwiseAvx2;
    case CpuLevel::kAvxVnni: return kChannelwiseAvxVnni;
    case CpuLevel::kAvx512Vnni: return kChannelwiseAvx512Vnni;
    default: return kChannelwiseScalar;
  }
}

bool pair_may_saturate(const int8_t* weights, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 2) {
    const int a = weights[i], b = weights[i + 1];
    const int positive = std::max(a, 0) + std::max(b, 0), negative = std::min(a, 0) + std::min(b, 0);
    if (255 * positive > 32767 || 255 * negative < -32768) return true;
  }
  return false;
}

Stored stored_as(DataType type) {
  switch (type) {
    case DataType::kU8: return Stored::kU8;
    case DataType::kS8: return Stored::kS8;
    default: return Stored::kF32;
  }
}

// A division and the two-part product differ by less than 2 units in the last place, so only where v / scale lies that close to
// the border between two integers can the rounded results differ: all those v are tried.
std::optional<Reciprocal> reciprocal_of(float scale) {
  if (!(scale > 0x1p-60f && scale < 0x1p60f)) return std::nullopt;  // keeps both parts and their products away from subnormals
  const double exact = 1.0 / static_cast<double>(scale);
  Reciprocal r;
  r.high = static_cast<float>(exact);
  r.low = static_cast<float>(exact - static_cast<double>(r.high));
  for (int border = 0; border <= 512; ++border) {
    const float middle = static_cast<float>((border + 0.5) * static_cast<double>(scale));
    float v = middle;
    for (int i = 0; i < 4; ++i) v = std::nextafterf(v, 0.0f);
    for (int i = 0; i < 9; ++i, v = std::nextafterf(v, std::numeric_limits<float>::infinity()))
      if (std::nearbyintf(v / scale) != std::nearbyintf(std::fmaf(v, r.high, v * r.low))) return std::nullopt;
  }
  return r;
}

// Whether |f(t)| ≤ max(|t|, 1) for all t but NaN, so that a finite t stays finite.
bool never_grows(UnaryFunction f) {
  switch (f) {
    case UnaryFunction::kIdentity: case UnaryFunction::kRelu: case UnaryFunction::kSigmoid: case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kHardSwish: case UnaryFunction::kSilu: case UnaryFunction::kTanh: case UnaryFunction::kGelu:
    case UnaryFunction::kGeluTanh: case UnaryFunction::kMish:
      return true;
    default: return false;
  }
}

RowEpilogue stored_result(const TensorType& y, const Activation& activation) {
  const ResultLimits limits = result_limits(y, activation);
  RowEpilogue row;
  row.stored = stored_as(y.dtype);
  row.curved = !is_clamp(activation.function);
  row.function = static_cast<int64_t>(activation.function);
  row.alpha = activation.alpha;
  row.beta = activation.beta;
  row.low = limits.low;
  row.high = limits.high;
  row.scale = limits.scale;
  row.zero = limits.zero;
  return row;
}

Expected<LoadedEpilogue> load_epilogue(const char* op, const Problem& problem, const Activation& activation, double alpha,
                                       int64_t channels) {
  const TensorType& y = problem.outputs[0].type;
  const Operand* residual = optional_operand(problem.inputs, 3);
  INGOT_ASSIGN(LayerEpilogue e, make_layer_epilogue(op, problem, activation, alpha, channels));
  LoadedEpilogue loaded;
  RowEpilogue& row = loaded.row;
  row = stored_result(y, activation);
  row.curved = e.curved;
  row.low = e.result.low;
  row.high = e.result.high;
  row.out_stride = channels;
  if (residual) {
    row.residual_stored = stored_as(residual->type.dtype);
    row.residual_zero = e.residual_zero;
    row.residual_multiplier = e.residual_multiplier;
  }
  const bool below_one = std::all_of(e.multipliers.begin(), e.multipliers.end(), [](float m) { return m < 0.99f; });
  row.integers = below_one && !row.curved && !residual && row.stored != Stored::kF32;
  const auto padded = static_cast<size_t>(channels + kBlockChannels);
  loaded.multipliers = std::move(e.multipliers);
  loaded.multipliers.resize(padded, 0.0f);
  if (!e.zero.empty()) {
    loaded.low = std::move(e.low);
    loaded.high = std::move(e.high);
    loaded.scale = std::move(e.scale);
    loaded.residual = std::move(e.residual);
    loaded.zero = std::move(e.zero);
    for (auto* numbers : {&loaded.low, &loaded.high, &loaded.residual}) numbers->resize(padded, 0.0f);
    loaded.scale.resize(padded, 1.0f);
    loaded.zero.resize(padded, 0);
  }
  // Without a float residual t is finite: an int32 times a multiplier below 1e20.
  if (row.curved && is_byte(y.dtype) && never_grows(activation.function) && row.residual_stored != Stored::kF32) {
    const auto& scales = y.quant->scales;
    const float smallest = *std::min_element(scales.begin(), scales.end());
    if (residual && !(scale_of(residual->type) / smallest < 1e20f)) return loaded;
    std::vector<Reciprocal> found;
    for (float scale : scales) {
      const auto r = reciprocal_of(scale);
      if (!r) break;
      found.push_back(*r);
    }
    row.reciprocal = found.size() == scales.size();
    if (row.reciprocal && loaded.zero.empty()) {
      row.inverse = found[0].high;
      row.inverse_low = found[0].low;
    } else if (row.reciprocal) {
      for (const Reciprocal& r : found) {
        loaded.inverse.push_back(r.high);
        loaded.inverse_low.push_back(r.low);
      }
      for (auto* numbers : {&loaded.inverse, &loaded.inverse_low}) numbers->resize(padded, 0.0f);
    }
  }
  return loaded;
}

RowEpilogue bound_epilogue(const LoadedEpilogue& epilogue, const KernelArgs& args) {
  RowEpilogue row = epilogue.row;
  row.multiplier = epilogue.multipliers.data();
  row.out = args.outputs[0];
  if (!epilogue.zero.empty()) {
    row.channel_low = epilogue.low.data();
    row.channel_high = epilogue.high.data();
    row.channel_scale = epilogue.scale.data();
    row.channel_residual = epilogue.residual.data();
    row.channel_zero = epilogue.zero.data();
    row.channel_inverse = epilogue.inverse.data();
    row.channel_inverse_low = epilogue.inverse_low.data();
  }
  row.residual = row.residual_stored == Stored::kNone ? nullptr : args.inputs[3];
  return row;
}

}  // namespace ingot::cpu
