// Attributes and sub-graphs that several operator families read the same way.
#pragma once

#include "builder/onnx/node_importer.h"
#include "runtime/ops/conv.h"

namespace ingot {

// auto_pad; when it is set, explicit pads have no meaning.
AutoPad read_auto_pad(NodeImporter& node);

// A fused activation by its ONNX name ("Relu", "Clip" …) behind x; parameters may be left out.
ValueId add_activation(NodeImporter& node, ValueId x, std::string_view name, const std::vector<double>& parameters);

// The quantised operators are taken apart: their operands dequantised, their result quantised.
// channel_axis: the dim that a scale of more than one element belongs to.
ValueId add_dequantize(NodeImporter& node, ValueId x, ValueId scale, ValueId zero_point, int64_t channel_axis);
// An s32 bias of scale s_x · s_w.
ValueId add_dequantize_bias(NodeImporter& node, ValueId bias, ValueId x_scale, ValueId w_scale);
void quantize_result(NodeImporter& node, ValueId x, ValueId scale, ValueId zero_point);

// [B, S, N·D] → [B, N, S, D] and back.
ValueId split_heads(NodeImporter& node, ValueId x, int64_t heads);
ValueId join_heads(NodeImporter& node, ValueId x);
// K and V heads repeated, each `times`: [B, K, T, D] → [B, K · times, T, D].
ValueId repeat_heads(NodeImporter& node, ValueId x, int64_t heads, int64_t times);
// Pairs (a, b) of each head's `turned` first elements turn: (a·cos − b·sin, a·sin + b·cos). x [B, N, S, size]; cosine and
// sine broadcast to [B, N, S, turned / 2]. Pairs are neighbours where interleaved, else half of `turned` apart.
ValueId rotate_pairs(NodeImporter& node, ValueId x, ValueId cosine, ValueId sine, int64_t size, int64_t turned, bool interleaved);
// A copy of a cache with new entries along `axis` from a place on that is each batch's own (s64 [B], kNone: 0).
ValueId scatter_along(NodeImporter& node, ValueId cache, ValueId update, ValueId places, int64_t axis, bool circular);

// 0, 1, … dim − 1; dim is s64 [1].
ValueId count_up(NodeImporter& node, ValueId dim);
// A dim that must be known at import; 1 after an error.
int64_t fixed_dim(NodeImporter& node, ValueId x, int dim, const char* what);

}  // namespace ingot
