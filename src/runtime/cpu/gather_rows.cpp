// Gather as copies of blocks: y[outer, i, inner] = x[outer, indices[i], inner]. Indices are checked before anything moves.
#include <array>
#include <cstring>
#include <string>

#include "runtime/ops/type_rule.h"
#include "runtime/tactic.h"
#include "runtime/thread_pool.h"

namespace ingot::cpu {
namespace {

constexpr int64_t kGrain = 8192;  // bytes below which another thread does not pay

class GatherKernel final : public Kernel {
 public:
  GatherKernel(const Problem& problem)
      : axis_(std::get<GatherParams>(problem.params).axis), element_(static_cast<int64_t>(element_bytes(problem.inputs[0].type.dtype))),
        wide_(problem.inputs[1].type.dtype == DataType::kS64) {}

  Status run(const KernelArgs& args) noexcept override {
    const Shape& shape = args.input_shapes[0];
    const int axis = static_cast<int>(axis_ < 0 ? axis_ + shape.rank : axis_);
    const int64_t dim = shape[axis], count = args.input_shapes[1].elements();
    int64_t outer = 1, inner = element_;
    for (int d = 0; d < axis; ++d) outer *= shape[d];
    for (int d = axis + 1; d < shape.rank; ++d) inner *= shape[d];
    const void* indices = args.inputs[1];
    for (int64_t i = 0; i < count; ++i) {
      const int64_t place = index_at(indices, i);
      if (place < -dim || place >= dim)
        return refuse("gather", "index " + std::to_string(i) + " out of range", std::to_string(place),
                      dim == 0 ? std::string("a dim that is not empty") : std::to_string(-dim) + " to " + std::to_string(dim - 1),
                      StatusCode::kInvalidArgument);
    }
    if (outer * count * inner == 0) return {};
    const auto* x = static_cast<const std::byte*>(args.inputs[0]);
    auto* y = static_cast<std::byte*>(args.outputs[0]);
    args.pool->parallel_for(outer * count, std::max<int64_t>(1, kGrain / inner), [&](int64_t begin, int64_t end, int) {
      switch (inner) {
        case 1: return copy<1>(x, y, indices, begin, end, count, dim, 1);
        case 4: return copy<4>(x, y, indices, begin, end, count, dim, 4);
        case 8: return copy<8>(x, y, indices, begin, end, count, dim, 8);
        default: return copy<0>(x, y, indices, begin, end, count, dim, inner);
      }
    });
    return {};
  }

 private:
  int64_t index_at(const void* indices, int64_t i) const {
    return wide_ ? static_cast<const int64_t*>(indices)[i] : static_cast<const int32_t*>(indices)[i];
  }
  template <int64_t kBytes>
  void copy(const std::byte* x, std::byte* y, const void* indices, int64_t begin, int64_t end, int64_t count, int64_t dim, int64_t inner) const {
    int64_t o = begin / count, i = begin % count;
    for (int64_t at = begin; at < end; ++at) {
      const int64_t index = index_at(indices, i), place = index < 0 ? index + dim : index;
      std::memcpy(y + at * inner, x + (o * dim + place) * inner, static_cast<size_t>(kBytes ? kBytes : inner));
      if (++i == count) i = 0, ++o;
    }
  }

  int64_t axis_, element_;
  bool wide_;
};

class GatherTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.gather.blocks", 1, OpKind::kGather};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    for (const Operand& input : problem.inputs)
      if (input.type.layout != Layout::kLinear) return {"an operand is not row-major"};
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type, &indices = problem.inputs[1].type;
    if (y.layout != Layout::kLinear) return {"output is not row-major"};
    if (x.dtype != y.dtype) return {"types of input and output differ"};
    if (indices.dtype != DataType::kS32 && indices.dtype != DataType::kS64) return {"indices are neither s32 nor s64"};
    return {};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "gather: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<GatherKernel>(problem));
  }
};

}  // namespace

std::span<const Tactic* const> gather_rows() {
  static const GatherTactic tactic;
  static const std::array<const Tactic*, 1> list = {&tactic};
  return list;
}

}  // namespace ingot::cpu
