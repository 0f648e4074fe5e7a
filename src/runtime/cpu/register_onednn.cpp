// The list of oneDNN's tactics, added to those of the runtime.
#include "ingot/onednn.h"

#include "runtime/tactic_registry.h"

namespace ingot {
namespace cpu {
std::span<const Tactic* const> conv_onednn();
std::span<const Tactic* const> matmul_onednn();
}  // namespace cpu

void add_onednn_tactics() {
  TacticRegistry::add(cpu::conv_onednn());
  TacticRegistry::add(cpu::matmul_onednn());
}

}  // namespace ingot
