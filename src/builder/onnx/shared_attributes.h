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

}  // namespace ingot
