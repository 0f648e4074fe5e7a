// Ops on f16 and bf16 by float32 tactics, on any device: operands are widened into the workspace, results rounded once from there, as in the
// reference code. Constants that the tactic packs are widened when the engine is built.
#pragma once

#include <memory>
#include <string>

#include "runtime/tactic.h"

namespace ingot {

inline bool is_half(DataType type) { return type == DataType::kF16 || type == DataType::kBF16; }

// Between `type`, f16 or bf16, and f32, for `count` neighbours. Allocates nothing.
class HalfConversion {
 public:
  virtual ~HalfConversion() = default;
  virtual Status widen(DataType type, const void* from, void* to, int64_t count, const KernelArgs& args) const noexcept = 0;
  virtual Status narrow(DataType type, const void* from, void* to, int64_t count, const KernelArgs& args) const noexcept = 0;
};
using MakeHalfConversion = Expected<std::unique_ptr<HalfConversion>> (*)(const Problem& problem);

class WidenedTactic final : public Tactic {
 public:
  // Named as `inner`, with "half" for "f32", or behind its name.
  WidenedTactic(const Tactic& inner, MakeHalfConversion make_conversion);
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override;
  size_t workspace_bytes(const Problem& problem) const override;
  uint32_t packed_inputs(const Problem& problem) const override;
  Expected<Blob> prepare(const Problem& problem) const override;
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override;
  double estimate(const Problem& problem, std::span<const Shape> inputs, std::span<const Shape> outputs) const override;

 private:
  const Tactic& inner_;
  MakeHalfConversion make_conversion_;
  std::string name_;
  TacticInfo info_;
};

}  // namespace ingot
