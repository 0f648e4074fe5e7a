// THE list of passes. Float fusion comes before quantisation, so that nothing inside a fused group is ever quantised, and
// batch norm is folded before ranges are observed.
#include "builder/pipeline.h"

#include "builder/passes/passes.h"

namespace ingot {
namespace {

#define INGOT_PASS(name) Pass{#name, name}
constexpr Pass kCanonicalise[] = {
    INGOT_PASS(fold_constants),
    INGOT_PASS(eliminate_identities),
    INGOT_PASS(raise_composites),
    INGOT_PASS(eliminate_common_subexpressions),
    INGOT_PASS(fuse_conv_batchnorm),
    INGOT_PASS(eliminate_dead_nodes),
};
constexpr Pass kFuse[] = {
    INGOT_PASS(fuse_pad),
    INGOT_PASS(fuse_scale_into_matmul),
    INGOT_PASS(fuse_bias),
    INGOT_PASS(fuse_residual_add),
    INGOT_PASS(fuse_activation),
    INGOT_PASS(fuse_attention),
    INGOT_PASS(eliminate_dead_nodes),
};
constexpr Pass kQuantise[] = {
    INGOT_PASS(absorb_quantization_parameters),
    INGOT_PASS(insert_qdq),
    INGOT_PASS(propagate_qdq),
    INGOT_PASS(fuse_qdq),
    INGOT_PASS(eliminate_dead_nodes),
};
#undef INGOT_PASS

}  // namespace

std::span<const Pass> canonicalise_passes() { return kCanonicalise; }
std::span<const Pass> fuse_passes() { return kFuse; }
std::span<const Pass> quantise_passes() { return kQuantise; }

}  // namespace ingot
