// Tactics that are a name, a question and a way to load, without packed constants or workspace; and the walk over broadcast operands
// that several of them share.
#pragma once

#include <array>
#include <span>

#include "runtime/cuda/indexed_params.h"
#include "runtime/cuda/simple_kernel.h"
#include "runtime/move_views.h"

namespace ingot::cuda {

class PlainTactic final : public Tactic {
 public:
  using Refuse = const char* (*)(const Problem&);  // null, or why not
  using Load = Expected<std::unique_ptr<Kernel>> (*)(const Problem&, Device&);
  PlainTactic(OpKind op, const char* name, Refuse refuse, Load load) : info_{name, 1, op}, refuse_(refuse), load_(load) {}
  const TacticInfo& info() const override { return info_; }
  Support supports(const Problem& problem) const override { return {refuse_(problem)}; }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    INGOT_TRY(no_blob(info_, blob));
    INGOT_ASSIGN(Device* const device, Device::first());
    return load_(problem, *device);
  }

 private:
  TacticInfo info_;
  Refuse refuse_;
  Load load_;
};

inline const char* refuse_layouts(const Problem& problem) {
  for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
    for (const Operand& operand : operands)
      if (operand.present && operand.type.layout != Layout::kLinear) return "tensors are not row-major";
  return nullptr;
}
// Elements of `operand` have a size that kernels move.
inline const char* refuse_bytes(const Operand& operand) {
  const size_t bytes = element_bytes(operand.type.dtype);
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 ? nullptr : "elements have neither 1, 2, 4 nor 8 bytes";
}
inline bool is_index(const Operand& operand) { return operand.type.dtype == DataType::kS32 || operand.type.dtype == DataType::kS64; }
inline bool is_wide(const Operand& operand) { return operand.type.dtype == DataType::kS64; }

// The dims of a tensor from the one with the largest stride to the one with the smallest. Allocates nothing, as a sort may.
inline std::array<int, Shape::kMaxRank> memory_order(int rank, const Strides& strides) {
  std::array<int, Shape::kMaxRank> order{};
  for (int d = 0; d < rank; ++d) {
    int at = d;
    for (; at > 0 && strides[static_cast<size_t>(order[static_cast<size_t>(at - 1)])] < strides[static_cast<size_t>(d)]; --at)
      order[static_cast<size_t>(at)] = order[static_cast<size_t>(at - 1)];
    order[static_cast<size_t>(at)] = d;
  }
  return order;
}

// Along the dims of a tensor in the order of its memory; dims of 1 are left out, neighbours that run on are merged.
template <size_t N>
Walk<static_cast<int>(N)> make_walk(const Shape& shape, Layout layout, const std::array<Strides, N>& strides) {
  Walk<static_cast<int>(N)> walk{};
  const Strides own = strides_of(shape, layout);
  const std::array<int, Shape::kMaxRank> order = memory_order(shape.rank, own);
  for (int i = 0; i < shape.rank; ++i) {
    const auto d = static_cast<size_t>(order[static_cast<size_t>(i)]);
    const int64_t dim = shape[static_cast<int>(d)];
    if (dim == 1) continue;
    const int last = walk.rank - 1;
    bool runs_on = walk.rank > 0;
    for (size_t n = 0; n < N && runs_on; ++n) runs_on = walk.strides[n][last] == strides[n][d] * dim;
    const int at = runs_on ? last : walk.rank++;
    walk.dims[at] = runs_on ? walk.dims[at] * dim : dim;
    for (size_t n = 0; n < N; ++n) walk.strides[n][at] = strides[n][d];
  }
  walk.is_small = shape.elements() <= INT32_MAX;
  return walk;
}
// Strides of an operand that broadcasts to a shape of `rank` dims, along these.
inline Strides broadcast_strides(const Shape& shape, Layout layout, int rank) {
  Strides strides{};
  const Strides own = strides_of(shape, layout);
  for (int d = 0; d < rank; ++d) {
    const int from = d - (rank - shape.rank);
    if (from >= 0 && shape[from] != 1) strides[static_cast<size_t>(d)] = own[static_cast<size_t>(from)];
  }
  return strides;
}

}  // namespace ingot::cuda
