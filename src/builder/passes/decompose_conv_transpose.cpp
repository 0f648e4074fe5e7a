// A transposed convolution whose kernel is as large as its stride writes each output pixel once: it is a 1×1 convolution
// with a channel for each place of the kernel, followed by DepthToSpace. So it gets the kernels, and the integers, of Conv.
//   w'[(i·k + j)·O + o, c] = w[c, o, i, j]      b'[(i·k + j)·O + o] = b[o]
#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

bool all_equal(const std::vector<int64_t>& values, int64_t number) {
  for (int64_t value : values)
    if (value != number) return false;
  return true;
}

bool writes_pixels_once(const Match& m) {
  const Graph& graph = m.graph();
  const auto& params = std::get<ConvTransposeParams>(graph.node(m.root()).params);
  const ValueId w = m.value("w"), b = m.value("b");
  if (!is_f32_constant(graph, w) || (b != kNone && !is_f32_constant(graph, b)) || !is_f32(graph, m.value("x"))) return false;
  const Shape& kernel = graph.value(w).type.shape;
  return kernel.rank == 4 && kernel[2] > 1 && kernel[2] == kernel[3] && params.strides.size() == 2 &&
         all_equal(params.strides, kernel[2]) && all_equal(params.pads, 0) && all_equal(params.dilations, 1) &&
         all_equal(params.output_padding, 0) && params.output_shape.empty() && params.groups == 1 &&
         (params.auto_pad == AutoPad::kNotSet || params.auto_pad == AutoPad::kValid);
}

Expected<NodeId> split(const Match& m, GraphEditor& editor) {
  const Graph& graph = m.graph();
  const ValueId w = m.value("w"), b = m.value("b");
  const Shape shape = graph.value(w).type.shape;
  const int64_t inputs = shape[0], outputs = shape[1], places = shape[2] * shape[3];
  const auto old = constant_span<float>(graph, w);
  std::vector<float> weights(old.size()), bias;
  for (int64_t c = 0; c < inputs; ++c)
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t p = 0; p < places; ++p)
        weights[static_cast<size_t>((p * outputs + o) * inputs + c)] = old[static_cast<size_t>((c * outputs + o) * places + p)];
  std::vector<ValueId> operands = {m.value("x"), editor.add_constant_of<float>(graph.value(w).name, DataType::kF32,
                                                                               Shape{outputs * places, inputs, 1, 1}, weights)};
  if (b != kNone) {
    const auto each = constant_span<float>(graph, b);
    for (int64_t p = 0; p < places; ++p) bias.insert(bias.end(), each.begin(), each.end());
    operands.push_back(add_vector(editor, graph.value(b).name, bias));
  }
  ConvParams conv;
  conv.activation = std::get<ConvTransposeParams>(graph.node(m.root()).params).activation;
  const std::string name = graph.node(m.root()).name;
  INGOT_ASSIGN(const GraphEditor::Added added,
               editor.add_node(name, conv, operands, {graph.value(m.result()).name + ".places"}));
  editor.absorb_origins(added.node, m.root());
  editor.add_note(added.node, "one output pixel for each place of the kernel of '" + name + "'");
  return replace_root(m, editor, DepthToSpaceParams{shape[2], false}, {added.outputs[0]});
}

const Rewrite kRewrites[] = {
    {"conv_and_depth_to_space", "%y = ConvTranspose(%x, %w:const, %b:const?) {activation.function=*}", writes_pixels_once, split},
};

}  // namespace

Status decompose_conv_transpose(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
