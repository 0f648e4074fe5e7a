// The explicit lists of tactics, collected once; on the CPU the reference tactics come last.
#include "runtime/tactic_registry.h"

namespace ingot {
namespace cpu {
#define INGOT_CPU_TACTICS(name) std::span<const Tactic* const> name();
#include "runtime/cpu/tactics.inc"
INGOT_CPU_TACTICS(reference_tactic)
#undef INGOT_CPU_TACTICS
}  // namespace cpu

#ifdef INGOT_HAS_CUDA
namespace cuda {
#define INGOT_CUDA_TACTICS(name) std::span<const Tactic* const> name();
#include "runtime/cuda/tactics.inc"
#undef INGOT_CUDA_TACTICS
}  // namespace cuda
#endif

TacticRegistry::TacticRegistry() {
  const auto add = [this](Backend backend, std::span<const Tactic* const> tactics) {
    List& list = lists_[static_cast<size_t>(backend)];
    for (const Tactic* tactic : tactics) {
      list.all.push_back(tactic);
      list.by_op[static_cast<size_t>(tactic->info().op)].push_back(tactic);
    }
  };
  for (List& list : lists_) list.by_op.resize(static_cast<size_t>(OpKind::kCount));
#define INGOT_CPU_TACTICS(name) add(Backend::kCpu, cpu::name());
#include "runtime/cpu/tactics.inc"
  INGOT_CPU_TACTICS(reference_tactic)
#undef INGOT_CPU_TACTICS
#ifdef INGOT_HAS_CUDA
#define INGOT_CUDA_TACTICS(name) add(Backend::kCuda, cuda::name());
#include "runtime/cuda/tactics.inc"
#undef INGOT_CUDA_TACTICS
#endif
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
    List& list = registry.lists_[static_cast<size_t>(Backend::kCpu)];
    list.all.push_back(tactic);
    auto& same_op = list.by_op[static_cast<size_t>(tactic->info().op)];
    same_op.insert(same_op.empty() ? same_op.end() : same_op.end() - 1, tactic);
  }
}

std::span<const Tactic* const> TacticRegistry::for_op(OpKind op, Backend backend) const {
  if (op >= OpKind::kCount) return {};
  return lists_[static_cast<size_t>(backend)].by_op[static_cast<size_t>(op)];
}

const Tactic* TacticRegistry::find(std::string_view name) const {
  for (const List& list : lists_)
    for (const Tactic* tactic : list.all)
      if (tactic->info().name == name) return tactic;
  return nullptr;
}

}  // namespace ingot
