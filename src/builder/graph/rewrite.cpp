// The matcher backtracks over operand orders only. The driver works in rounds: the first looks at every node, later ones at
// nodes so near behind a change that a pattern rooted there may have begun to match.
#include "builder/graph/rewrite.h"

#include <algorithm>
#include <cmath>

#include "builder/graph/text_statement.h"

namespace ingot {
namespace {

thread_local RewriteWork work_so_far;

struct PatternNode {
  TextStatement text;
  std::vector<int> producers;  // for each operand: which pattern node makes it, −1: none
};
struct Pattern {
  std::vector<PatternNode> nodes;  // the root last
};

Status bad_pattern(const Rewrite& rewrite, const std::string& what) {
  return Status(StatusCode::kInternal, "pattern of '" + std::string(rewrite.name) + "': " + what);
}

Expected<Pattern> parse_pattern(const Rewrite& rewrite) {
  auto statements = parse_statements(rewrite.pattern);
  if (!statements.ok()) return statements.take_status().with_context("pattern of '" + std::string(rewrite.name) + "'");
  Pattern pattern;
  std::vector<bool> used(statements->size(), false);
  for (TextStatement& statement : *statements) {
    if (statement.kind != TextStatement::kOp) return bad_pattern(rewrite, "only ops may stand in it");
    PatternNode node;
    for (const TextOperand& operand : statement.operands) {
      int producer = -1;
      for (size_t i = 0; i < pattern.nodes.size(); ++i)
        for (const TextOperand& result : pattern.nodes[i].text.results)
          if (!operand.name.empty() && result.name == operand.name) producer = static_cast<int>(i);
      if (producer >= 0) used[static_cast<size_t>(producer)] = true;
      node.producers.push_back(producer);
    }
    for (const TextOperand& result : statement.results)
      if (result.constant || result.once || result.optional || result.literal) return bad_pattern(rewrite, "marks belong to operands");
    for (OpKind op : statement.ops) {
      const auto fields = fields_of(default_params(op));
      const auto known = [&](const std::string& name) {
        return std::any_of(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
      };
      for (const Field& field : statement.fields)
        if (!known(field.name)) return bad_pattern(rewrite, "unknown field '" + field.name + "'");
      for (const std::string& name : statement.free_fields)
        if (!known(name)) return bad_pattern(rewrite, "unknown field '" + name + "'");
    }
    node.text = std::move(statement);
    pattern.nodes.push_back(std::move(node));
  }
  if (pattern.nodes.empty()) return bad_pattern(rewrite, "it is empty");
  for (size_t i = 0; i + 1 < pattern.nodes.size(); ++i)
    if (!used[i]) return bad_pattern(rewrite, "line " + std::to_string(i + 1) + " does not feed a later one");
  return pattern;
}

bool field_matches(const FieldValue& have, const FieldValue& want) {
  const auto number = [](const FieldValue& v) -> std::optional<double> {
    if (const auto* whole = std::get_if<int64_t>(&v)) return static_cast<double>(*whole);
    if (const auto* real = std::get_if<double>(&v)) return *real;
    return std::nullopt;
  };
  if (const auto a = number(have), b = number(want); a && b)
    return *a == *b || std::abs(*a - *b) <= 1e-5 * std::abs(*b);
  return have == want;
}

bool params_match(const OpParams& params, const TextStatement& want) {
  static const Field no_activation{"activation.function", std::string("identity")};
  for (const Field& have : fields_of(params)) {
    const auto named = std::find_if(want.fields.begin(), want.fields.end(), [&](const Field& f) { return f.name == have.name; });
    if (named != want.fields.end()) {
      if (!field_matches(have.value, named->value)) return false;
    } else if (have.name == no_activation.name && have.value != no_activation.value &&
               std::find(want.free_fields.begin(), want.free_fields.end(), have.name) == want.free_fields.end()) {
      return false;
    }
  }
  return true;
}

bool is_commutative(const OpParams& params) {
  const auto* binary = std::get_if<BinaryParams>(&params);
  if (!binary) return false;
  switch (binary->function) {
    case BinaryFunction::kAdd: case BinaryFunction::kMul: case BinaryFunction::kMin: case BinaryFunction::kMax:
    case BinaryFunction::kEqual: case BinaryFunction::kAnd: case BinaryFunction::kOr: case BinaryFunction::kXor: return true;
    default: return false;
  }
}

}  // namespace

class PatternMatcher {
 public:
  PatternMatcher(const Graph& graph, const Pattern& pattern, const Rewrite& rewrite)
      : graph_(graph), pattern_(pattern), where_(rewrite.where) {}

  std::optional<Match> match(NodeId root) {
    State state{Match(graph_, root), std::vector<NodeId>(pattern_.nodes.size(), kNone), {}};
    if (!visit(state, pattern_.nodes.size() - 1, root)) return std::nullopt;
    return found_;
  }

 private:
  struct State {
    Match match;
    std::vector<NodeId> bound;                       // pattern node → graph node
    std::vector<std::pair<size_t, NodeId>> waiting;  // still to visit
  };

  bool bind(State& state, std::string_view name, ValueId value) {
    for (const auto& [known, bound] : state.match.values_)
      if (known == name) return bound == value;
    state.match.values_.emplace_back(name, value);
    return true;
  }

  // Tries pattern node `index` at graph node `id`, then whatever waits.
  bool visit(State& state, size_t index, NodeId id) {
    ++work_so_far.visits;
    if (state.bound[index] != kNone) return state.bound[index] == id && next(state);
    const TextStatement& want = pattern_.nodes[index].text;
    const Node& node = graph_.node(id);
    if (!node.alive || std::find(want.ops.begin(), want.ops.end(), node.kind()) == want.ops.end()) return false;
    if (node.inputs.size() > want.operands.size()) return false;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = node.outputs[i];
      const bool named = i < want.results.size() && !want.results[i].name.empty();
      if (named) {
        if (output == kNone || !bind(state, want.results[i].name, output)) return false;
      } else if (output != kNone && (!graph_.value(output).users.empty() || graph_.value(output).is_output)) {
        return false;
      }
    }
    if (node.outputs.size() < want.results.size() || node.outputs[0] == kNone || !params_match(node.params, want)) return false;
    state.bound[index] = id;
    state.match.nodes_.push_back(id);
    if (want.operands.size() == 2 && is_commutative(node.params)) {
      State other = state;
      return (operands(state, index, node, false) && next(state)) || (operands(other, index, node, true) && next(other));
    }
    return operands(state, index, node, false) && next(state);
  }

  bool operands(State& state, size_t index, const Node& node, bool swapped) {
    const PatternNode& want = pattern_.nodes[index];
    for (size_t i = 0; i < want.text.operands.size(); ++i) {
      const TextOperand& operand = want.text.operands[i];
      const ValueId value = graph_.input(node, swapped ? 1 - i : i);
      if (value == kNone) {
        if (!operand.optional && (!operand.name.empty() || operand.literal)) return false;
        if (!operand.name.empty() && !bind(state, operand.name, kNone)) return false;
        continue;
      }
      if (operand.literal) {
        const ValueId other = graph_.input(node, swapped ? i : 1 - i);
        if (!literal_matches(value, *operand.literal, want.text.operands.size() == 2 ? other : kNone)) return false;
        continue;
      }
      if (operand.name.empty()) return false;
      if (operand.constant && !graph_.is_constant(value)) return false;
      if (operand.once && !graph_.has_single_use(value)) return false;
      if (!bind(state, operand.name, value)) return false;
      if (want.producers[i] < 0) continue;
      const NodeId producer = graph_.value(value).producer;
      if (producer == kNone) return false;
      state.waiting.emplace_back(static_cast<size_t>(want.producers[i]), producer);
    }
    return true;
  }

  bool literal_matches(ValueId value, double literal, ValueId other) {
    const auto scalar = scalar_value(graph_, value);
    if (!scalar || !(std::abs(*scalar - literal) <= 1e-5 * std::abs(literal))) return false;
    return other == kNone || graph_.value(value).type.shape.rank <= graph_.value(other).type.shape.rank;
  }

  bool next(State& state) {
    if (state.waiting.empty()) {
      if (where_ && !where_(state.match)) return false;
      found_ = std::move(state.match);
      return true;
    }
    const auto [index, id] = state.waiting.back();
    state.waiting.pop_back();
    return visit(state, index, id);
  }

  const Graph& graph_;
  const Pattern& pattern_;
  bool (*const where_)(const Match&);
  std::optional<Match> found_;
};

namespace {

class Driver {
 public:
  Driver(Graph& graph, std::span<const Rewrite> rewrites) : graph_(graph), editor_(graph), rewrites_(rewrites) {}

  Status run() {
    by_op_.resize(static_cast<size_t>(OpKind::kCount));
    for (size_t i = 0; i < rewrites_.size(); ++i) {
      INGOT_ASSIGN(auto pattern, parse_pattern(rewrites_[i]));
      depth_ = std::max(depth_, pattern.nodes.size());
      for (OpKind op : pattern.nodes.back().text.ops) by_op_[static_cast<size_t>(op)].push_back(i);
      patterns_.push_back(std::move(pattern));
    }
    edits_left_ = 16 * graph_.node_count() + 1000;
    std::vector<bool> wanted(graph_.node_count(), true);
    while (true) {
      changed_.clear();
      ++work_so_far.rounds;
      for (NodeId id : graph_.topological_order())
        if (wanted[id]) INGOT_TRY(settle(id));
      if (changed_.empty()) return Status();
      wanted = behind_changes();
    }
  }

 private:
  // Rewrites at one node, and at the nodes made by that, until nothing matches there.
  Status settle(NodeId start) {
    std::vector<NodeId> todo{start};
    while (!todo.empty()) {
      const NodeId id = todo.back();
      if (!graph_.node(id).alive || graph_.node(id).outputs.empty()) {
        todo.pop_back();
        continue;
      }
      const size_t nodes_before = graph_.node_count();
      INGOT_ASSIGN(const bool fired, try_all(id));
      if (!fired) {
        todo.pop_back();
        continue;
      }
      for (size_t made = nodes_before; made < graph_.node_count(); ++made) todo.push_back(static_cast<NodeId>(made));
    }
    return Status();
  }

  Expected<bool> try_all(NodeId id) {
    for (size_t i : by_op_[static_cast<size_t>(graph_.node(id).kind())]) {
      const Rewrite& rewrite = rewrites_[i];
      const auto match = PatternMatcher(graph_, patterns_[i], rewrite).match(id);
      if (!match) continue;
      if (edits_left_-- == 0)
        return Status(StatusCode::kInternal, "rewrite '" + std::string(rewrite.name) + "': does not come to an end");
      INGOT_TRY(fire(rewrite, *match));
      return true;
    }
    return false;
  }

  Status fire(const Rewrite& rewrite, const Match& match) {
    const std::string root_name = graph_.node(match.root()).name;
    const auto note_values = [&](const std::vector<ValueId>& values) {
      for (ValueId value : values)
        if (value != kNone) changed_.push_back(value);
    };
    for (NodeId id : match.nodes()) note_values(graph_.node(id).inputs), note_values(graph_.node(id).outputs);
    const size_t nodes_before = graph_.node_count();
    ++work_so_far.edits;
    auto kept = rewrite.apply(match, editor_);
    if (!kept.ok()) return kept.take_status().with_context("rewrite '" + std::string(rewrite.name) + "' at '" + root_name + "'");
    for (size_t id = nodes_before; id < graph_.node_count(); ++id) note_values(graph_.node(static_cast<NodeId>(id)).outputs);
    std::vector<NodeId> nodes = match.nodes();
    for (bool removed = true; removed;) {
      removed = false;
      for (NodeId& id : nodes) {
        if (id == kNone || id == *kept || is_useful(id)) continue;
        if (*kept != kNone) editor_.absorb_origins(*kept, id);
        if (graph_.node(id).alive) editor_.remove_node(id);
        id = kNone;
        removed = true;
      }
    }
    if (*kept != kNone && !rewrite.note.empty()) {
      std::string note(rewrite.note);
      if (!root_name.empty()) note += " '" + root_name + "'";
      editor_.add_note(*kept, std::move(note));
    }
    return Status();
  }

  bool is_useful(NodeId id) const {
    const Node& node = graph_.node(id);
    return node.alive && std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
      return output != kNone && (!graph_.value(output).users.empty() || graph_.value(output).is_output);
    });
  }

  // Nodes up to the deepest pattern's length behind a changed value.
  std::vector<bool> behind_changes() {
    std::vector<bool> wanted(graph_.node_count(), false);
    std::vector<NodeId> front, behind;
    // A value that thousands read changes thousands of times; its readers are listed once.
    std::sort(changed_.begin(), changed_.end());
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (ValueId value : changed_) {
      const Value& v = graph_.value(value);
      if (v.producer != kNone) front.push_back(v.producer);
      front.insert(front.end(), v.users.begin(), v.users.end());
    }
    for (size_t step = 0; step <= depth_ && !front.empty(); ++step) {
      work_so_far.visits += front.size();
      behind.clear();
      for (NodeId id : front) {
        if (wanted[id]) continue;
        wanted[id] = true;
        for (ValueId output : graph_.node(id).outputs)
          if (output != kNone) behind.insert(behind.end(), graph_.value(output).users.begin(), graph_.value(output).users.end());
      }
      std::swap(front, behind);
    }
    return wanted;
  }

  Graph& graph_;
  GraphEditor editor_;
  std::span<const Rewrite> rewrites_;
  std::vector<Pattern> patterns_;
  std::vector<std::vector<size_t>> by_op_;
  std::vector<ValueId> changed_;
  size_t depth_ = 0, edits_left_ = 0;
};

}  // namespace

ValueId Match::value(std::string_view name) const {
  for (const auto& [known, value] : values_)
    if (known == name) return value;
  return kNone;
}

NodeId Match::node(std::string_view result) const {
  const ValueId id = value(result);
  return id == kNone ? kNone : graph_->value(id).producer;
}

RewriteWork rewrite_work() { return work_so_far; }

Status apply_rewrites(Graph& graph, std::span<const Rewrite> rewrites) { return Driver(graph, rewrites).run(); }

Status check_pattern(const Rewrite& rewrite) {
  auto pattern = parse_pattern(rewrite);
  return pattern.ok() ? Status() : pattern.take_status();
}

Expected<std::optional<Match>> find_match(const Graph& graph, const Rewrite& rewrite, NodeId root) {
  INGOT_ASSIGN(const auto pattern, parse_pattern(rewrite));
  return PatternMatcher(graph, pattern, rewrite).match(root);
}

// Of what a rewrite promises to be the same; a formula may be found for one and not for the other.
static bool same_at_probes(const Value& a, const Value& b) { return a.probe_shapes == b.probe_shapes && a.late_dims == b.late_dims; }

Expected<NodeId> replace_root(const Match& match, GraphEditor& editor, OpParams params, std::vector<ValueId> inputs) {
  const ValueId result = match.result();
  const std::string name = editor.graph().node(match.root()).name;
  INGOT_ASSIGN(const auto added, editor.add_node(name, std::move(params), std::move(inputs), {editor.graph().value(result).name}));
  const ValueId made = added.outputs[0];
  const Value& have = editor.graph().value(made);
  if (have.type.dtype != editor.graph().value(result).type.dtype || !same_at_probes(have, editor.graph().value(result)))
    return Status(StatusCode::kInternal, "replacing '" + name + "': type of the new node: got " + to_string(have.type) +
                                             ", need " + to_string(editor.graph().value(result).type));
  if (have.constant) {
    const std::shared_ptr<const Blob> bytes = have.constant;
    editor.make_constant(result, bytes);
    return kNone;
  }
  editor.take_output(added.node, 0, result);
  return added.node;
}

void fuse_root_into(const Match& match, GraphEditor& editor, NodeId node) { editor.take_output(node, 0, match.result()); }

bool same_shape(const Graph& graph, ValueId a, ValueId b) {
  const Value &x = graph.value(a), &y = graph.value(b);
  // By formulas: what agrees at the probes alone may differ between them.
  return x.type.shape == y.type.shape && x.dims == y.dims && x.late_dims == y.late_dims && x.probe_shapes == y.probe_shapes;
}

bool same_dim(const Graph& graph, ValueId a, int i, ValueId b, int k) {
  const Value &x = graph.value(a), &y = graph.value(b);
  if (x.type.shape[i] != y.type.shape[k]) return false;
  return x.type.shape[i] != Shape::kDynamic || x.dims[static_cast<size_t>(i)] == y.dims[static_cast<size_t>(k)];
}

bool can_replace(const Graph& graph, ValueId from, ValueId to) {
  const Value &a = graph.value(from), &b = graph.value(to);
  if (a.is_output && (b.is_output || b.is_input || b.constant)) return false;
  return a.type.dtype == b.type.dtype && a.type.quant == b.type.quant && same_shape(graph, from, to);
}

std::optional<double> scalar_value(const Graph& graph, ValueId id) {
  if (!graph.is_constant(id) || graph.value(id).type.quant || graph.value(id).type.shape.elements() != 1) return std::nullopt;
  switch (graph.value(id).type.dtype) {
    case DataType::kF32: return constant_span<float>(graph, id)[0];
    case DataType::kF64: return constant_span<double>(graph, id)[0];
    default: return std::nullopt;
  }
}

}  // namespace ingot
