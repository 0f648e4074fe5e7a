// Prints a graph and reads it back, in the grammar of text_statement.h. Dumps, the graph-opt tool and pass tests use it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "builder/graph/graph.h"
#include "ingot/status.h"

namespace ingot {

// Live nodes in topological order; a constant stands before its first user. Constants of more than 16 elements print as
// hash(…), so a print of them does not read back. Of a body's inputs what is known of their values is not written.
// with_formulas: behind each line, as a comment, the dims of what varies, as formulas.
std::string to_text(const Graph& graph, bool with_formulas = false);

struct ParsedGraph {
  Graph graph;
  std::vector<ValueId> unspecified;  // constants given as `any` or hash(…): zeros
};
// Values are defined before use. Errors name the line. `allow_unspecified`: accept constants without data.
Expected<ParsedGraph> parse_graph(std::string_view text, bool allow_unspecified = false);

// FNV-1a over the bytes.
uint64_t hash_of(const Blob& bytes);

}  // namespace ingot
