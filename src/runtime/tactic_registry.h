// Name and version → Tactic; candidates by op and backend. Filled once from the explicit lists in cpu/tactics.inc and
// cuda/tactics.inc; a program may add more.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/tactic.h"

namespace ingot {

class TacticRegistry {
 public:
  // All tactics built into this library, in the order of the lists; on the CPU the reference tactic of each op comes last.
  static const TacticRegistry& builtin();
  // Adds CPU tactics of an optional library, before the reference ones; those it has already are left out. Before the first use
  // by any other thread.
  static void add(std::span<const Tactic* const> tactics);

  std::span<const Tactic* const> for_op(OpKind op, Backend backend = Backend::kCpu) const;
  const Tactic* find(std::string_view name) const;  // of any backend; null if unknown
  std::span<const Tactic* const> all(Backend backend = Backend::kCpu) const { return lists_[static_cast<size_t>(backend)].all; }

 private:
  TacticRegistry();
  static TacticRegistry& instance();
  struct List {
    std::vector<const Tactic*> all;
    std::vector<std::vector<const Tactic*>> by_op;
  };
  std::array<List, static_cast<size_t>(Backend::kCount)> lists_;
};

}  // namespace ingot
