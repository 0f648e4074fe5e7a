// Ops that choose, order and place elements: what their type rules refuse, what the run refuses, and values that runtimes
// disagree on.
#include "op_case.h"

#include <algorithm>
#include <numeric>

namespace ingot {
namespace {

TEST(Indexed, Refusals) {
  run_op_cases(R"(
    case scatter_updates
    op ScatterElements axis=0
    in f32 3 : 1 2 3
    in s64 2 : 0 1
    in f32 1 : 5
    refused scatter_elements: shape of the updates: got 1, need 2
    case scatter_types
    op ScatterElements axis=0
    in f32 3 : 1 2 3
    in s64 1 : 0
    in f64 1 : 5
    refused scatter_elements: type of the updates: got f64, need f32
    case scatter_add_bool
    op ScatterElements axis=0 reduction=add
    in bool 1 : 1
    in s64 1 : 0
    in bool 1 : 1
    refused scatter_elements: element type of a reduction: got bool
    case scatter_wider
    op ScatterElements axis=0
    in f32 2x1 : 1 2
    in s64 1x2 : 0 0
    in f32 1x2 : 5 6
    refused scatter_elements: dim 1 of the indices: got 2, need at most 1
    case scatter_nd_names_too_many
    op ScatterND
    in f32 3 : 1 2 3
    in s64 1x2 : 0 1
    in f32 1 : 5
    refused scatter_nd: dims that an index names: got 2, need at most 1
    case scatter_nd_updates
    op ScatterND
    in f32 3x2 : 1 2 3 4 5 6
    in s64 1x1 : 0
    in f32 2 : 5 6
    refused scatter_nd: shape of the updates: got 2, need 1x2
    case gather_nd_batch
    op GatherND batch_dims=2
    in f32 3x2 : 1 2 3 4 5 6
    in s64 3x1 : 0 0 0
    refused gather_nd: batch_dims: got 2, need 0 to 1
    case gather_nd_nothing_named
    op GatherND
    in f32 3 : 1 2 3
    in s64 2x0 :
    refused gather_nd: dims that an index names: got 0
    case topk_too_many
    op TopK axis=0
    in f32 3 : 1 2 3
    in s64 1 : 4
    out f32 3 : 0 0 0
    out s64 3 : 0 0 0
    refused topk: k: got 4, need 0 to 3
    case topk_negative
    op TopK axis=0
    in f32 3 : 1 2 3
    in s64 1 : -1
    out f32 3 : 0 0 0
    out s64 3 : 0 0 0
    refused topk: k: got -1
    case topk_unknown
    op TopK axis=0
    in f32 3 : 1 2 3
    in s64 1 unknown :
    out f32 3 : 0 0 0
    out s64 3 : 0 0 0
    refused k computed in the run
    case cumulate_axis
    op Cumulate
    in f32 3 : 1 2 3
    in s64 scalar : 1
    refused cumulate: axis outside the rank: got 1
    case reverse_same_axes
    op ReverseSequence batch_axis=1 time_axis=-1
    in f32 2x2 : 1 2 3 4
    in s64 2 : 1 1
    refused reverse_sequence: axes: got dim 1 as both
    case reverse_lengths
    op ReverseSequence batch_axis=1 time_axis=0
    in f32 2x2 : 1 2 3 4
    in s64 3 : 1 1 1
    refused reverse_sequence: shape of the lengths: got 3, need 2
    case one_hot_depth
    op OneHot
    in s64 1 : 0
    in s64 1 : -3
    in f32 2 : 0 1
    refused one_hot: depth: got -3
    case one_hot_huge
    op OneHot
    in s64 4 : 0 0 0 0
    in f32 1 : 1e30
    in f32 2 : 0 1
    refused one_hot: shape of the result
    case one_hot_axis
    op OneHot axis=2
    in s64 1 : 0
    in s64 1 : 3
    in f32 2 : 0 1
    refused one_hot: axis outside the rank: got 2, need -2 to 1
    case trilu_rank
    op Trilu
    in f32 3 : 1 2 3
    refused trilu: rank of input: got 1
    case bit_cast_sizes
    op BitCast to=3
    in f32 1 : 1
    refused bit_cast: element types: got f32 to f64
    case bit_cast_unknown
    op BitCast to=99
    in f32 1 : 1
    refused bit_cast: element type: got 99
    case grid_batch
    op GridSample
    in f32 1x1x1x1 : 1
    in f32 2x1x1x2 : 0 0 0 0
    refused grid_sample: shape of the grid: got 2x1x1x2
    case grid_cubic_volume
    op GridSample mode=cubic
    in f32 1x1x1x1x1 : 1
    in f32 1x1x1x1x3 : 0 0 0
    refused grid_sample: rank of input of cubic sampling
    case grid_of_nothing
    op GridSample
    in f32 1x1x0x1 :
    in f32 1x1x1x2 : 0 0
    refused grid_sample: spatial dim 0: got 0
    case roi_boxes
    op RoiAlign
    in f32 1x1x1x1 : 1
    in f32 1x3 : 0 0 0
    in s64 1 : 0
    refused roi_align: shape of the boxes: got 1x3
    case unpool_kernel
    op MaxUnpool kernel=[2]
    in f32 1x1x1x1 : 1
    in s64 1x1x1x1 : 0
    refused max_unpool: length of kernel: got 1, need 2
    case unpool_huge
    op MaxUnpool kernel=[2147483647,2147483647] strides=[2147483647,2147483647]
    in f32 1x1x2x2 : 1 1 1 1
    in s64 1x1x2x2 : 0 0 0 0
    refused max_unpool: shape of the result
    case col2im_blocks
    op Col2Im
    in f32 1x4x3 : 0 0 0 0 0 0 0 0 0 0 0 0
    in s64 2 : 3 3
    in s64 2 : 2 2
    refused col2im: number of blocks: got 3, need 4
    case col2im_huge
    op Col2Im
    in f32 1x1x1 : 0
    in s64 3 : 2147483647 2147483647 2147483647
    in s64 3 : 1 1 1
    refused col2im: size of the picture
    case col2im_dims
    op Col2Im
    in f32 1x1x1 : 0
    in s64 2 : 1 1
    in s64 1 : 1
    refused col2im: number of block dims: got 1, need 2
  )");
}

TEST(Indexed, FailuresOfTheRun) {
  run_op_cases(R"(
    case scatter
    op ScatterElements axis=0
    in f32 2 : 1 2
    in s64 1 : 2
    in f32 1 : 5
    out f32 2 : 0 0
    fails scatter_elements: index 0 out of range: got 2, need -2 to 1
    case scatter_nd
    op ScatterND
    in f32 2x2 : 1 2 3 4
    in s64 1x2 : 0 -3
    in f32 1 : 5
    out f32 2x2 : 0 0 0 0
    fails scatter_nd: index 1 out of range: got -3
    case gather_nd
    op GatherND
    in f32 2x2 : 1 2 3 4
    in s64 2 : 0 9223372036854775807
    out f32 scalar : 0
    fails gather_nd: index 1 out of range
    case reverse
    op ReverseSequence batch_axis=0 time_axis=1
    in f32 1x2 : 1 2
    in s64 1 : 3
    out f32 1x2 : 0 0
    fails reverse_sequence: length of sequence 0: got 3, need 0 to 2
    case roi_batch
    op RoiAlign
    in f32 1x1x1x1 : 1
    in f32 1x4 : 0 0 0 0
    in s64 1 : 1
    out f32 1x1x1x1 : 0
    fails roi_align: batch index 0 out of range: got 1, need 0 to 0
    case roi_without_end
    op RoiAlign
    in f32 1x1x1x1 : 1
    in f32 1x4 : 0 0 1e30 1e30
    in s64 1 : 0
    out f32 1x1x1x1 : 0
    fails roi_align: box 0 too large
    case unpool
    op MaxUnpool kernel=[2] strides=[2]
    in f32 1x1x1 : 1
    in s64 1x1x1 : 2
    out f32 1x1x2 : 0 0
    fails max_unpool: index 0 out of range: got 2, need 0 to 1
  )");
}

TEST(Indexed, ValuesByDefinition) {
  run_op_cases(R"(
    case topk_nan_is_largest
    op TopK axis=0
    in f32 5 : 1 nan 3 nan 2
    in s64 1 : 4
    out f32 4 : nan nan 3 2
    out s64 4 : 1 3 2 4
    case topk_nan_is_last_of_the_smallest
    op TopK axis=0 largest=0
    in f32 4 : 1 nan 3 2
    in s64 1 : 4
    out f32 4 : 1 2 3 nan
    out s64 4 : 0 3 2 1
    case topk_signed_zeros_are_equal
    op TopK axis=0
    in f32 3 : -0.0 0 -1
    in s32 1 : 2
    out f32 2 : -0.0 0
    out s64 2 : 0 1
    case topk_s8
    op TopK axis=0
    in s8 4 : -128 127 0 127
    in s64 scalar : 3
    out s8 3 : 127 127 0
    out s64 3 : 1 3 2
    case scatter_repeats_apply_in_order
    op ScatterElements axis=0
    in s32 2 : 1 2
    in s64 3 : 0 0 -2
    in s32 3 : 7 8 9
    out s32 2 : 9 2
    case scatter_wraps
    op ScatterElements axis=0 reduction=add
    in s8 1 : 127
    in s64 2 : 0 0
    in s8 2 : 1 1
    out s8 1 : -127
    case scatter_nan_stays
    op ScatterElements axis=0 reduction=max
    in f32 2 : nan 1
    in s64 2 : 0 1
    in f32 2 : 5 nan
    out f32 2 : nan nan
    case cumulate_wraps
    op Cumulate
    in u8 3 : 200 100 5
    in s64 1 : 0
    out u8 3 : 200 44 49
    case cumulate_nothing
    op Cumulate
    in f32 0 :
    in s64 1 : 0
    out f32 0 :
    case one_hot_float_far_outside
    op OneHot
    in f32 3 : 1e30 nan -1.5
    in s64 1 : 2
    in s32 2 : 0 1
    out s32 3x2 : 0 0 1 0 0 1
    case trilu_extreme_diagonals
    op Trilu
    in f32 2x2 : 1 2 3 4
    in s64 scalar : -9223372036854775808
    out f32 2x2 : 1 2 3 4
    case grid_far_away_and_nan
    op GridSample
    in f32 1x1x1x2 : 1 2
    in f32 1x1x3x2 : 1e30 0 nan 0 0 -1e30
    out f32 1x1x1x3 : 0 0 0
    case grid_far_away_border
    op GridSample padding=border
    in f32 1x1x1x2 : 1 2
    in f32 1x1x2x2 : inf 0 -inf 0
    out f32 1x1x1x2 : 2 1
    case roi_nan_box
    op RoiAlign sampling_ratio=1
    in f32 1x1x1x1 : 1
    in f32 1x4 : nan nan nan nan
    in s64 1 : 0
    out f32 1x1x1x1 : 0
  )");
}

// The heap against a plain stable sort.
TEST(Indexed, TopKIsAStableSort) {
  uint32_t state = 5;
  const auto below = [&](uint32_t limit) { return (state = state * 1664525u + 1013904223u) / 65536u % limit; };
  std::string text;
  for (int round = 0; round < 80; ++round) {
    const bool largest = round % 2 == 0;
    std::vector<uint32_t> values(1 + below(40));
    for (uint32_t& value : values) value = below(10);
    std::vector<size_t> order(values.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return largest ? values[a] > values[b] : values[a] < values[b]; });
    order.resize(below(static_cast<uint32_t>(values.size()) + 1));
    std::ostringstream out;
    out << "case round_" << round << "\nop TopK axis=0 largest=" << largest << "\nin s32 " << values.size() << " :";
    for (uint32_t value : values) out << ' ' << value;
    out << "\nin s64 1 : " << order.size() << "\nout s32 " << order.size() << " :";
    for (size_t place : order) out << ' ' << values[place];
    out << "\nout s64 " << order.size() << " :";
    for (size_t place : order) out << ' ' << place;
    text += out.str() + '\n';
  }
  run_op_cases(text);
}

}  // namespace
}  // namespace ingot
