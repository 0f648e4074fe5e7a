// Linear attention: a state per head, a matrix [K,V], that each step decays, corrects and writes to before it is read.
#pragma once

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"

namespace ingot {

// q [B,T,q_heads·K], k [B,T,heads·K], v [B,T,heads·V], optional past state [B,heads,K,V], with `gated` the decay
// [B,T,heads·K] or [B,T,heads] (a logarithm), with `delta` the rate [B,T,heads] or [B,T,1] → y [B,T,q_heads·V] and the state.
// S ← exp(decay) ∘ S;  u = v, with delta rate · (v − Sᵀk);  S ← S + k uᵀ;  y = scale · Sᵀq. Formula: ONNX LinearAttention-27.
struct LinearAttentionParams {
  int64_t q_heads = 1, heads = 1;  // each state head serves q_heads / heads neighbouring query heads
  double scale = 1;
  bool gated = false, delta = false;
  INGOT_FIELDS(q_heads, heads, scale, gated, delta)
};

Status infer_types(const LinearAttentionParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const LinearAttentionParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
