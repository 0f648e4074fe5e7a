// Rewrites: a pattern drawn in the grammar of text_statement.h, a condition, and an edit.
//   %y = Conv(%x, %w:const, %b:const?)
//   %z = BatchNorm(%y:once, %scale:const, %shift:const, %mean:const, %variance:const)
// The last line is the root; matching runs from it backwards, so every line must feed a later one. Operands:
//   %x          any value, the same one wherever the name stands
//   %x:const    a constant            %x:once   used here only, and no graph output
//   %x?         may be left out       _         must be left out
//   0.5         a constant of this one value (1e-5 relative) that does not raise the rank
// Fields in {…} must be equal, others are free; a fused activation must be absent unless `activation.function` is named
// (`*`: any). Both operand orders are tried for a commutative Binary, until `where` agrees too. Outputs not named must be
// unused.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "builder/graph/graph.h"
#include "builder/graph/graph_editor.h"

namespace ingot {

class Match {
 public:
  Match(const Graph& graph, NodeId root) : graph_(&graph), root_(root) {}
  const Graph& graph() const { return *graph_; }
  NodeId root() const { return root_; }
  ValueId result() const { return graph_->node(root_).outputs[0]; }  // what the root makes
  ValueId value(std::string_view name) const;   // kNone where an optional operand is left out
  NodeId node(std::string_view result) const;   // the node that makes a value of the pattern
  const std::vector<NodeId>& nodes() const { return nodes_; }  // the root first

 private:
  friend class PatternMatcher;
  const Graph* graph_;
  NodeId root_;
  std::vector<std::pair<std::string, ValueId>> values_;
  std::vector<NodeId> nodes_;
};

struct Rewrite {
  std::string_view name, pattern;
  bool (*where)(const Match&) = nullptr;  // null: always
  // Edits, and returns the node that now stands for the match (kNone: none does). The driver then removes those matched
  // nodes that became useless; the returned node takes their origins and `note`.
  Expected<NodeId> (*apply)(const Match&, GraphEditor&) = nullptr;
  std::string_view note = {};  // "folded batch norm": the name of the root follows
};

// Applies the rewrites until none matches; at one node the first that matches wins. Near-linear in the nodes.
Status apply_rewrites(Graph& graph, std::span<const Rewrite> rewrites);

// What the rewrites of this thread cost so far: nodes that patterns looked at, rewrites done, rounds over a graph. For tests of
// growth.
struct RewriteWork {
  uint64_t visits = 0, edits = 0, rounds = 0;
};
RewriteWork rewrite_work();

// Whether the pattern is well formed.
Status check_pattern(const Rewrite& rewrite);
// The match of one rewrite at one node, if there is any. For tests.
Expected<std::optional<Match>> find_match(const Graph& graph, const Rewrite& rewrite, NodeId root);

// Edits that applies are made of.
// A new node makes the root's value, which keeps its name; the root loses it. Types must agree, else kInternal.
Expected<NodeId> replace_root(const Match& match, GraphEditor& editor, OpParams params, std::vector<ValueId> inputs);
// `node`, an earlier node of the match, makes the root's value from now on.
void fuse_root_into(const Match& match, GraphEditor& editor, NodeId node);
// Whether uses of `from` may read `to` instead: same type whatever the shapes, and no graph output loses its own value.
bool can_replace(const Graph& graph, ValueId from, ValueId to);
// Whether two values have the same shape whatever the inputs are, as their formulas tell.
bool same_shape(const Graph& graph, ValueId a, ValueId b);
// The same of dim i of a and dim k of b.
bool same_dim(const Graph& graph, ValueId a, int i, ValueId b, int k);
// A float constant of one element.
std::optional<double> scalar_value(const Graph& graph, ValueId id);

}  // namespace ingot
