// The explicit list of tactics, collected once: cpu/tactics.inc in order, then the reference tactics.
#include "runtime/tactic_registry.h"

namespace ingot {
namespace cpu {
#define INGOT_CPU_TACTICS(name) std::span<const Tactic* const> name();
#include "runtime/cpu/tactics.inc"
INGOT_CPU_TACTICS(reference_tactic)
#undef INGOT_CPU_TACTICS
}  // namespace cpu

TacticRegistry::TacticRegistry() : by_op_(static_cast<size_t>(OpKind::kCount)) {
  const auto add = [this](std::span<const Tactic* const> tactics) {
    for (const Tactic* tactic : tactics) {
      all_.push_back(tactic);
      by_op_[static_cast<size_t>(tactic->info().op)].push_back(tactic);
    }
  };
#define INGOT_CPU_TACTICS(name) add(cpu::name());
#include "runtime/cpu/tactics.inc"
  INGOT_CPU_TACTICS(reference_tactic)
#undef INGOT_CPU_TACTICS
}

TacticRegistry& TacticRegistry::instance() {
  static TacticRegistry registry;
  return registry;
}

const TacticRegistry& TacticRegistry::builtin() { return instance(); }

void TacticRegistry::add(std::span<const Tactic* const> tactics) {
  TacticRegistry& registry = instance();
  for (const Tactic* tactic : tactics) {
    if (registry.find(tactic->info().name)) continue;
    registry.all_.push_back(tactic);
    auto& same_op = registry.by_op_[static_cast<size_t>(tactic->info().op)];
    same_op.insert(same_op.empty() ? same_op.end() : same_op.end() - 1, tactic);
  }
}

std::span<const Tactic* const> TacticRegistry::for_op(OpKind op) const {
  if (op >= OpKind::kCount) return {};
  return by_op_[static_cast<size_t>(op)];
}

const Tactic* TacticRegistry::find(std::string_view name) const {
  for (const Tactic* tactic : all_)
    if (tactic->info().name == name) return tactic;
  return nullptr;
}

}  // namespace ingot
