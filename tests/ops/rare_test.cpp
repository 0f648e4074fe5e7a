// Rare ops: what their type rules refuse, and what the run refuses.
#include "op_case.h"

namespace ingot {
namespace {

TEST(Rare, Refusals) {
  run_op_cases(R"(
    case deform_conv_offsets
    op DeformConv
    in f32 1x1x3x3 : 1 2 3 4 5 6 7 8 9
    in f32 1x1x2x2 : 1 1 1 1
    in f32 1x8x2x1 : 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
    refused deform_conv: shape of the offsets: got 1x8x2x1, need 1x8x2x2
    case deform_conv_groups
    op DeformConv groups=2
    in f32 1x3x1x1 : 1 2 3
    in f32 2x1x1x1 : 1 1
    in f32 1x2x1x1 : 0 0
    refused deform_conv: channels of the weights: got 2x1x1x1, need 2 groups of 3 channels
    case deform_conv_offset_groups
    op DeformConv offset_groups=2
    in f32 1x3x1x1 : 1 2 3
    in f32 1x3x1x1 : 1 1 1
    in f32 1x4x1x1 : 0 0 0 0
    refused deform_conv: offset_groups: got 2, need a divisor of the 3 channels
    case deform_conv_mask
    op DeformConv
    in f32 1x1x1x1 : 1
    in f32 1x1x1x1 : 1
    in f32 1x2x1x1 : 0 0
    in absent
    in f32 1x2x1x1 : 0 0
    refused deform_conv: shape of the mask: got 1x2x1x1, need 1x1x1x1
    case deform_conv_too_wide
    op DeformConv
    in f32 1x1x1x1 : 1
    in f32 1x1x2x2 : 1 1 1 1
    in f32 1x8x1x1 : 0 0 0 0 0 0 0 0
    refused smaller than the window
    case linear_attention_heads
    op LinearAttention q_heads=3 heads=2
    in f32 1x1x3 : 1 2 3
    in f32 1x1x2 : 1 2
    in f32 1x1x2 : 1 2
    out f32 1x1x3 : 0 0 0
    out f32 1x2x1x1 : 0 0
    refused linear_attention: heads: got 3 of queries, 2 of keys
    case linear_attention_needs_decay
    op LinearAttention gated=1
    in f32 1x1x1 : 1
    in f32 1x1x1 : 1
    in f32 1x1x1 : 1
    out f32 1x1x1 : 0
    out f32 1x1x1x1 : 0
    refused linear_attention: decay: got none, need one
    case linear_attention_keys
    op LinearAttention
    in f32 1x1x2 : 1 2
    in f32 1x1x1 : 1
    in f32 1x1x1 : 1
    out f32 1x1x1 : 0
    out f32 1x1x2x1 : 0 0
    refused linear_attention: shape of the keys: got 1x1x1, need 1x1x2
    case determinant_not_square
    op Determinant
    in f32 2x3 : 1 2 3 4 5 6
    refused determinant: shape of input: got 2x3, need square matrices
    case determinant_integers
    op Determinant
    in s32 1x1 : 1
    refused determinant: element type: got s32, need a float
    case roi_pool_boxes
    op RoiPool
    in f32 1x1x1x1 : 1
    in f32 1x4 : 0 0 0 0
    refused roi_pool: shape of the boxes: got 1x4, need rank 2, last dim 5
  )");
}

TEST(Rare, FailuresOfTheRun) {
  run_op_cases(R"(
    case roi_pool_batch
    op RoiPool
    in f32 1x1x1x1 : 1
    in f32 1x5 : 1 0 0 0 0
    out f32 1x1x1x1 : 0
    fails roi_pool: batch index of box 0: got 1.0
  )");
}

// Far or undefined places read nothing.
TEST(Rare, DeformConvOutsideThePicture) {
  run_op_cases(R"(
    case far
    op DeformConv
    in f32 1x1x1x2 : 3 5
    in f32 1x1x1x1 : 2
    in f32 1x2x1x2 : 0 nan 1e30 -0.5
    out f32 1x1x1x2 : 0 0
    case half_outside
    op DeformConv
    in f32 1x1x1x2 : 3 5
    in f32 1x1x1x1 : 2
    in f32 1x2x1x2 : 0 0 -0.5 0.5
    out f32 1x1x1x2 : 3 5
  )");
}

}  // namespace
}  // namespace ingot
