// Zeros padded around an image are padded by the Conv or average pool that reads it.
#include "builder/graph/rewrite.h"
#include "builder/passes/channel_constant.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

// Begins and ends of the spatial dims, if the Pad puts zeros there and nowhere else.
std::optional<std::vector<int64_t>> zero_pads(const Match& m) {
  const Graph& graph = m.graph();
  const ValueId pads = m.value("pads"), axes = m.value("axes"), value = m.value("value");
  const int rank = graph.value(m.value("x")).type.shape.rank;
  if (std::get<PadParams>(graph.node(m.node("y")).params).mode != PadMode::kConstant) return std::nullopt;
  if (value != kNone && !is_filled_with(graph, value, 0)) return std::nullopt;
  if (!graph.is_constant(pads) || graph.value(pads).type.dtype != DataType::kS64 || rank < 3) return std::nullopt;
  const auto amounts = constant_span<int64_t>(graph, pads);
  std::vector<int64_t> dims;
  if (axes == kNone) {
    for (int i = 0; i < rank; ++i) dims.push_back(i);
  } else {
    if (!graph.is_constant(axes)) return std::nullopt;
    const TensorType& type = graph.value(axes).type;
    const OpInput input{type.dtype, type.shape, graph.value(axes).constant->data(), true};
    for (int64_t i = 0; i < type.shape.elements(); ++i) dims.push_back((read_index(input, i) + rank) % rank);
  }
  if (amounts.size() != dims.size() * 2) return std::nullopt;
  std::vector<int64_t> spatial(static_cast<size_t>(rank - 2) * 2, 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t side = 0; side < 2; ++side) {
      const int64_t amount = amounts[i + side * dims.size()];
      if (amount < 0 || (amount > 0 && dims[i] < 2)) return std::nullopt;
      if (dims[i] >= 2) spatial[static_cast<size_t>(dims[i] - 2) + side * static_cast<size_t>(rank - 2)] += amount;
    }
  }
  return spatial;
}

template <class P>
void add_pads(P& params, const std::vector<int64_t>& more) {
  params.pads.resize(more.size(), 0);
  for (size_t i = 0; i < more.size(); ++i) params.pads[i] += more[i];
  params.auto_pad = AutoPad::kNotSet;
}
bool has_fixed_pads(AutoPad pad) { return pad == AutoPad::kNotSet || pad == AutoPad::kValid; }
bool all_zero(const std::vector<int64_t>& values) {
  for (int64_t value : values)
    if (value != 0) return false;
  return true;
}

bool pads_conv(const Match& m) {
  return has_fixed_pads(std::get<ConvParams>(m.graph().node(m.root()).params).auto_pad) && zero_pads(m).has_value();
}
Expected<NodeId> pad_conv(const Match& m, GraphEditor& editor) {
  auto params = std::get<ConvParams>(m.graph().node(m.root()).params);
  if (params.auto_pad == AutoPad::kValid) params.pads.clear();
  add_pads(params, *zero_pads(m));
  editor.set_params(m.root(), params);
  editor.set_input(m.root(), 0, m.value("x"));
  return m.root();
}

// The zeros count in the average, so the pool's own padding must count too, or be none. With ceil_mode the last window is
// judged by where the data ends, which would move.
bool pads_average(const Match& m) {
  const auto& params = std::get<PoolParams>(m.graph().node(m.root()).params);
  const bool own_pads_count = params.count_include_pad || all_zero(params.pads) || params.auto_pad == AutoPad::kValid;
  return !params.global && !params.ceil_mode && own_pads_count && has_fixed_pads(params.auto_pad) && zero_pads(m).has_value();
}
Expected<NodeId> pad_average(const Match& m, GraphEditor& editor) {
  auto params = std::get<PoolParams>(m.graph().node(m.root()).params);
  if (params.auto_pad == AutoPad::kValid) params.pads.clear();
  add_pads(params, *zero_pads(m));
  params.count_include_pad = true;
  editor.set_params(m.root(), params);
  editor.set_input(m.root(), 0, m.value("x"));
  return m.root();
}

const Rewrite kRewrites[] = {
    {"pad_conv", "%y = Pad(%x, %pads:const, %value?, %axes?)\n%z = Conv(%y:once, %w, %b?, %r?) {activation.function=*}", pads_conv, pad_conv,
     "fused the padding before"},
    {"pad_average", "%y = Pad(%x, %pads:const, %value?, %axes?)\n%z = Pool(%y:once) {function=\"average\"}", pads_average, pad_average,
     "fused the padding before"},
};

}  // namespace

Status fuse_pad(Graph& graph, const BuildOptions&) { return apply_rewrites(graph, kRewrites); }

}  // namespace ingot
