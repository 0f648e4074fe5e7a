// Local search: from two starting assignments, each node in turn takes the candidate that is cheapest given its neighbours,
// reformats counted, until nothing changes. Ties go to the earlier candidate, so the result is the same every time. How many
// read a value in each layout is kept count of, so that a look at one candidate costs no more than the node has operands.
#include "builder/tune/select_tactics.h"

#include <algorithm>
#include <array>

#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

constexpr int kMaxSweeps = 12;
constexpr double kAssumedRounds = 8;  // of a loop that stacks nothing

class Selector {
 public:
  Selector(const Graph& graph, CostModel& costs, const DeviceInfo& device, const BuildOptions& options)
      : graph_(graph), costs_(costs), device_(device), options_(options), order_(graph.topological_order()) {
    std::erase_if(order_, [&](NodeId id) { return is_shape_node(graph_, graph_.node(id)); });
    choices_.resize(graph.node_count());
    pick_.assign(graph.node_count(), kUnpicked);
    readers_.resize(graph.value_count());
  }

  Expected<Selection> run() {
    INGOT_TRY(time_candidates());
    best_total_ = 1e300;
    for (const bool prefer_channels_last : {true, false}) {
      start(prefer_channels_last);
      for (int sweep = 0; sweep < kMaxSweeps && improve(); ++sweep) {}
      if (const double total = total_cost(); total < best_total_) {
        best_total_ = total;
        best_ = pick_;
      }
    }
    pick_ = best_;
    count_readers();
    return collect();
  }

 private:
  Status time_candidates() {
    int64_t done = 0;
    std::string missing;
    for (NodeId id : order_) {
      if (options_.stop && *options_.stop) return Status(StatusCode::kInterrupted, "build: interrupted while tuning");
      const Node& node = graph_.node(id);
      NodeCandidates found = enumerate_candidates(graph_, node, device_, options_.reference_only, options_.tactic_libraries);
      if (found.options.empty()) {  // on a CPU reference code takes everything
        missing += (missing.empty() ? "" : ", ") + ("'" + node.name + "' (" + std::string(to_string(node.kind())) + ")");
        continue;
      }
      // With one option there is nothing to choose; its time still belongs in the report, except where it is the oracle.
      if (!node.bodies.empty()) {
        INGOT_ASSIGN(found.options.front().microseconds, select_in_bodies(id, node));
      } else for (Candidate& option : found.options) {
        const OwnedProblem problem = make_problem(graph_, node, option.inputs, option.outputs);
        auto cost = options_.reference_only ? Expected<double>(1.0) : costs_.microseconds(problem, *option.tactic);
        if (!cost.ok())
          return std::move(cost.take_status()).with_context("tuning node '" + node.name + "', tactic " +
                                                            std::string(option.tactic->info().name));
        option.microseconds = *cost;
      }
      // A tactic much slower than another in the same layouts never wins; dropping it keeps the search small.
      const Candidate first = found.options.front();
      choices_[id] = {first, std::move(found.options), std::move(found.refusals)};
      ++done;
      if (options_.progress) options_.progress({"tuning", done, static_cast<int64_t>(order_.size()), -1});
    }
    if (!missing.empty()) return Status(StatusCode::kUnsupported, "no kernel for " + missing + "; leave the target out, these layers run on the CPU only");
    return {};
  }

  // Control flow has one way to run, which costs what its bodies cost: of branches the dearer, of a loop all rounds.
  Expected<double> select_in_bodies(NodeId id, const Node& node) {
    double total = 0;
    for (const Graph& body : node.bodies) {
      BuildOptions quiet = options_;
      quiet.progress = nullptr;
      INGOT_ASSIGN(Selection selection, select_tactics(body, costs_, device_, quiet));
      total = std::max(total, selection.total_microseconds);
      bodies_[id].push_back(std::move(selection));
    }
    const auto* loop = std::get_if<LoopParams>(&node.params);
    if (!loop) return total;
    for (size_t i = static_cast<size_t>(loop->states); i < node.outputs.size(); ++i)
      return total * static_cast<double>(graph_.shape_at(node.outputs[i], kProbeOpt)[0]);
    return total * kAssumedRounds;
  }

  void start(bool prefer_channels_last) {
    for (NodeId id : order_) {
      const auto& options = choices_[id].options;
      size_t best = 0;
      const auto rank = [&](const Candidate& option) {
        const bool channels_last = option.inputs == Layout::kChannelsLast && option.outputs == Layout::kChannelsLast;
        return option.microseconds * (channels_last == prefer_channels_last ? 1.0 : 4.0);
      };
      for (size_t i = 1; i < options.size(); ++i)
        if (rank(options[i]) < rank(options[best])) best = i;
      pick_[id] = best;
    }
    count_readers();
  }

  void count_readers() {
    std::fill(readers_.begin(), readers_.end(), Readers{});
    for (NodeId id : order_) note_reads(id, +1);
    for (ValueId output : graph_.outputs()) ++readers_[output][static_cast<size_t>(Layout::kLinear)];
  }
  // The picked candidate's reads come or go.
  void note_reads(NodeId id, int change) {
    const Layout layout = choices_[id].options[pick_[id]].inputs;
    for (ValueId input : graph_.node(id).inputs)
      if (input != kNone) readers_[input][static_cast<size_t>(layout_of(graph_, input, layout))] += change;
  }
  void pick(NodeId id, size_t option) {
    note_reads(id, -1);
    pick_[id] = option;
    note_reads(id, +1);
  }

  // The layout in which a value is made: by its producer, or as the model's input.
  Layout made_layout(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNone || pick_[producer] == kUnpicked) return Layout::kLinear;
    return layout_of(graph_, value, choices_[producer].options[pick_[producer]].outputs);
  }

  double reformat_cost(ValueId value, Layout from, Layout to) {
    if (from == to) return 0;
    const auto key = std::make_pair(value, to);
    if (const auto known = reformats_.find(key); known != reformats_.end()) return known->second.microseconds;
    ReformatChoice choice;
    const OwnedProblem problem = make_reformat(graph_, value, from, to);
    choice.microseconds = 1e12;
    for (const Tactic* tactic : TacticRegistry::builtin().for_op(OpKind::kIdentity, device_.backend)) {
      if (options_.reference_only && !tactic->info().name.ends_with(".reference")) continue;
      if (!tactic->supports(problem.view(device_))) continue;
      auto cost = costs_.microseconds(problem, *tactic);
      if (cost.ok() && *cost < choice.microseconds) choice = {tactic, *cost};
    }
    return reformats_.emplace(key, choice).first->second.microseconds;
  }

  // Layouts other than its own in which a value is read, given the present picks.
  double readers_cost(ValueId value, Layout made) {
    ++looks_;
    double cost = 0;
    for (Layout layout : {Layout::kLinear, Layout::kChannelsLast})
      if (readers_[value][static_cast<size_t>(layout)] > 0) cost += reformat_cost(value, made, layout);
    return cost;
  }

  double local_cost(NodeId id) {
    const Node& node = graph_.node(id);
    double cost = choices_[id].options[pick_[id]].microseconds;
    for (auto at = node.inputs.begin(); at != node.inputs.end(); ++at) {
      const ValueId input = *at;
      if (input == kNone || graph_.is_constant(input) || std::find(node.inputs.begin(), at, input) != at) continue;
      cost += readers_cost(input, made_layout(input));
    }
    for (ValueId output : node.outputs)
      if (output != kNone) cost += readers_cost(output, made_layout(output));
    return cost;
  }

  bool improve() {
    bool changed = false;
    for (NodeId id : order_) {
      const size_t before = pick_[id];
      size_t best = before;
      double best_cost = local_cost(id);
      for (size_t i = 0; i < choices_[id].options.size(); ++i) {
        if (i == before) continue;
        pick(id, i);
        const double cost = local_cost(id);
        if (cost < best_cost - 1e-9 || (cost == best_cost && i < best)) {
          best_cost = cost;
          best = i;
        }
      }
      pick(id, best);
      changed |= best != before;
    }
    return changed;
  }

  double total_cost() {
    double total = 0;
    for (NodeId id : order_) {
      total += choices_[id].options[pick_[id]].microseconds;
      for (ValueId output : graph_.node(id).outputs)
        if (output != kNone) total += readers_cost(output, made_layout(output));
    }
    for (ValueId input : graph_.inputs()) total += readers_cost(input, Layout::kLinear);
    return total;
  }

  Expected<Selection> collect() {
    Selection selection;
    selection.total_microseconds = total_cost();
    selection.looks = looks_;
    for (NodeId id : order_) {
      NodeChoice& choice = choices_[id];
      choice.chosen = choice.options[pick_[id]];
      for (ValueId input : graph_.node(id).inputs) {
        if (input == kNone || graph_.is_constant(input)) continue;
        note_reformat(selection, input, made_layout(input), layout_of(graph_, input, choice.chosen.inputs));
      }
      for (ValueId output : graph_.node(id).outputs)
        if (output != kNone && graph_.value(output).is_output)
          note_reformat(selection, output, made_layout(output), Layout::kLinear);
    }
    for (NodeId id : order_) selection.nodes.emplace(id, std::move(choices_[id]));
    selection.bodies = std::move(bodies_);
    for (const auto& [key, reformat] : selection.reformats)
      if (!reformat.tactic)
        return Status(StatusCode::kInternal, "value '" + graph_.value(key.first).name + "': no tactic changes its layout");
    return selection;
  }

  void note_reformat(Selection& selection, ValueId value, Layout from, Layout to) {
    if (from == to) return;
    reformat_cost(value, from, to);
    selection.reformats[{value, to}] = reformats_.at({value, to});
  }

  const Graph& graph_;
  CostModel& costs_;
  const DeviceInfo& device_;
  const BuildOptions& options_;
  std::vector<NodeId> order_;
  static constexpr size_t kUnpicked = ~size_t{0};  // shape arithmetic, which reads shapes only
  using Readers = std::array<int64_t, 2>;          // uses of a value in each layout
  std::vector<NodeChoice> choices_;                // by node
  std::vector<size_t> pick_, best_;
  std::vector<Readers> readers_;
  uint64_t looks_ = 0;
  std::map<std::pair<ValueId, Layout>, ReformatChoice> reformats_;
  std::map<NodeId, std::vector<Selection>> bodies_;
  double best_total_ = 0;
};

}  // namespace

bool is_shape_node(const Graph& graph, const Node& node) {
  bool any = false;
  for (ValueId output : node.outputs) {
    if (output == kNone) continue;
    if (!graph.is_shape_value(output)) return false;
    any = true;
  }
  return any;
}

Expected<Selection> select_tactics(const Graph& graph, CostModel& costs, const DeviceInfo& device,
                                   const BuildOptions& options) {
  return Selector(graph, costs, device, options).run();
}

}  // namespace ingot
