// Calibrated quantisation as explicit Q/DQ: activations that integer layers read get QuantizeLinear → DequantizeLinear with
// the table's range. After unify_scales and quantize_constants a calibrated model and a quantisation-aware trained one are
// the same thing.
#include "builder/graph/graph_editor.h"
#include "builder/passes/int8_roles.h"
#include "builder/passes/passes.h"
#include "quant/activation_quantizer.h"

namespace ingot {
namespace {

class Inserter {
 public:
  Inserter(Graph& graph, const BuildOptions& options)
      : editor_(graph), graph_(graph), table_(*options.calibration_table), roles_(find_int8_roles(graph, options)),
        by_channel_(channel_scaled_values(graph, roles_)) {}

  Status run() {
    for (NodeId id : graph_.topological_order()) {
      if (!roles_.reason[id].empty()) editor_.add_note(id, roles_.reason[id]);
      if (!graph_.node(id).bodies.empty()) editor_.add_note(id, "bodies kept in f32: calibration observes nothing inside them");
    }
    for (ValueId value = 0; value < roles_.wanted.size(); ++value) {
      if (!roles_.wanted[value]) continue;
      const auto range = table_.ranges.find(graph_.value(value).name);
      if (range != table_.ranges.end()) INGOT_TRY(quantize_value(value, params_of(value, range->second)));
    }
    return {};
  }

 private:
  QuantParams params_of(ValueId value, const CalibrationRange& range) const {
    if (by_channel_[value]) {
      const std::vector<ActivationQuant> channels = quantize_channels_u8(range);
      if (!channels.empty() && static_cast<int64_t>(channels.size()) == graph_.value(value).type.shape[1]) return channel_params(channels);
    }
    return quantize_range_u8(range).params();
  }

  Status quantize_value(ValueId value, QuantParams quant) {
    // A float producer's other float readers keep the unrounded value; an integer layer's readers all see the integers.
    const NodeId producer = graph_.value(value).producer;
    const bool made_as_integer = producer != kNone && roles_.node[producer] != Int8Role::kNone;
    const std::string name = graph_.value(value).name;
    const std::vector<NodeId> users = graph_.value(value).users;
    INGOT_ASSIGN(const ValueId q, editor_.add_op(name + ".quantize", QuantizeLinearParams{}, {value}, name + ".u8"));
    editor_.set_storage(q, DataType::kU8, std::move(quant));
    INGOT_ASSIGN(const ValueId dq, editor_.add_op(name + ".dequantize", DequantizeLinearParams{}, {q}, name + ".dequantized"));
    for (NodeId user : users) {
      const Node& node = graph_.node(user);
      const Int8Role role = roles_.node[user];
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != value) continue;
        bool reads_integers = role == Int8Role::kMath || role == Int8Role::kMove;
        if (role == Int8Role::kCore)
          reads_integers = i == 0 || (i == 3 && node.outputs[0] != kNone && roles_.wanted[node.outputs[0]]);
        if (reads_integers || made_as_integer) editor_.set_input(user, i, dq);
      }
    }
    return {};
  }

  GraphEditor editor_;
  Graph& graph_;
  const CalibrationTable& table_;
  const Int8Roles roles_;
  const std::vector<bool> by_channel_;
};

}  // namespace

Status insert_qdq(Graph& graph, const BuildOptions& options) {
  if (!options.int8 || !options.calibration_table) return {};
  return Inserter(graph, options).run();
}

}  // namespace ingot
