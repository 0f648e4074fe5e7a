// Name and version → Tactic; candidates by op. Filled once from the explicit list in cpu/tactics.inc; a program may add more.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/tactic.h"

namespace ingot {

class TacticRegistry {
 public:
  // All tactics built into this library, in the order of the lists; the reference tactic of each op comes last.
  static const TacticRegistry& builtin();
  // Adds tactics of an optional library, before the reference ones; those it has already are left out. Before the first use
  // by any other thread.
  static void add(std::span<const Tactic* const> tactics);

  std::span<const Tactic* const> for_op(OpKind op) const;
  const Tactic* find(std::string_view name) const;  // null if unknown
  std::span<const Tactic* const> all() const { return all_; }

 private:
  TacticRegistry();
  static TacticRegistry& instance();
  std::vector<const Tactic*> all_;
  std::vector<std::vector<const Tactic*>> by_op_;
};

}  // namespace ingot
