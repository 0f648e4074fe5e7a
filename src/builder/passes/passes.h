// All passes, one file each, and their order.
//
// Measured and left out, on one AVX-512 VNNI core:
// - Merging sibling products (Q, K, V): 32 rows by 1152 columns take as long as three times 384 (f32 110 against 107 us, int8
//   29.4 against 29.7), and the split would come on top.
// - Concat and slice as parts of a neighbour's memory: channels_last joins channels, which are not contiguous there; all such
//   steps together are 2.6 % of ddddocr's detector and 2.4 % of PP-OCR's in f32, 2.2 and 0.9 % in int8, and none is of the
//   outermost dim.
#pragma once

#include <string_view>

#include "builder/graph/graph.h"
#include "ingot/builder.h"
#include "ingot/status.h"

namespace ingot {

struct Pass {
  std::string_view name;
  Status (*run)(Graph&, const BuildOptions&);
  bool in_bodies = true;  // whether it runs on the bodies of control flow too, each a graph of its own
};

Status fold_constants(Graph&, const BuildOptions&);
Status eliminate_identities(Graph&, const BuildOptions&);
Status eliminate_common_subexpressions(Graph&, const BuildOptions&);
Status eliminate_dead_nodes(Graph&, const BuildOptions&);
Status raise_composites(Graph&, const BuildOptions&);
Status fuse_pad(Graph&, const BuildOptions&);
Status fuse_conv_batchnorm(Graph&, const BuildOptions&);
Status fuse_input_affine(Graph&, const BuildOptions&);
Status fuse_bias(Graph&, const BuildOptions&);
Status fuse_scale_into_matmul(Graph&, const BuildOptions&);
Status fuse_residual_add(Graph&, const BuildOptions&);
Status fuse_activation(Graph&, const BuildOptions&);
Status decompose_conv_transpose(Graph&, const BuildOptions&);
Status fuse_attention(Graph&, const BuildOptions&);

// Quantisation, from the calibration table in the options or from the model's own Q/DQ.
Status dequantize_before_moves(Graph&, const BuildOptions&);
Status absorb_quantization_parameters(Graph&, const BuildOptions&);
Status insert_qdq(Graph&, const BuildOptions&);
Status unify_scales(Graph&, const BuildOptions&);
Status quantize_constants(Graph&, const BuildOptions&);
Status fold_terms_into_zero_points(Graph&, const BuildOptions&);
Status propagate_qdq(Graph&, const BuildOptions&);
Status fuse_qdq(Graph&, const BuildOptions&);
Status halve_weights(Graph&, const BuildOptions&);
Status fuse_pointwise_chain(Graph&, const BuildOptions&);

#define INGOT_PASS(name) Pass{#name, name}
#define INGOT_PASS_OUTSIDE_BODIES(name) Pass{#name, name, false}

// Composites come before common subexpressions are looked for a second time: what they leave behind may be shared. A bias
// may stand before a batch norm or behind it.
inline constexpr Pass kCanonicalisePasses[] = {
    INGOT_PASS(fold_constants),
    INGOT_PASS(eliminate_identities),
    INGOT_PASS(eliminate_common_subexpressions),
    INGOT_PASS(raise_composites),
    INGOT_PASS(fuse_pad),
    INGOT_PASS(fuse_bias),
    INGOT_PASS(fuse_conv_batchnorm),
    INGOT_PASS(fuse_bias),
    INGOT_PASS(fuse_input_affine),
    INGOT_PASS(fuse_scale_into_matmul),
    INGOT_PASS(eliminate_identities),
    INGOT_PASS(eliminate_common_subexpressions),
    INGOT_PASS_OUTSIDE_BODIES(eliminate_dead_nodes),  // goes into bodies itself
};
// Residuals before activations: the activation stands behind the sum.
inline constexpr Pass kFusePasses[] = {
    INGOT_PASS(fuse_residual_add),
    INGOT_PASS(fuse_activation),
    INGOT_PASS(decompose_conv_transpose),
    INGOT_PASS(fuse_attention),
    INGOT_PASS_OUTSIDE_BODIES(eliminate_dead_nodes),  // goes into bodies itself
};
// A calibrated model and a trained one are the same thing after quantize_constants.
inline constexpr Pass kQuantisePasses[] = {
    INGOT_PASS(dequantize_before_moves),
    INGOT_PASS(absorb_quantization_parameters),
    // Ranges are observed by name, and not inside bodies.
    INGOT_PASS_OUTSIDE_BODIES(insert_qdq),
    INGOT_PASS_OUTSIDE_BODIES(unify_scales),
    INGOT_PASS_OUTSIDE_BODIES(quantize_constants),
    INGOT_PASS_OUTSIDE_BODIES(fold_terms_into_zero_points),
    INGOT_PASS(propagate_qdq),
    INGOT_PASS(fuse_qdq),
    INGOT_PASS(halve_weights),
    INGOT_PASS(eliminate_common_subexpressions),
    INGOT_PASS_OUTSIDE_BODIES(eliminate_dead_nodes),  // goes into bodies itself
    INGOT_PASS(fuse_pointwise_chain),                 // of what is left
};

}  // namespace ingot
