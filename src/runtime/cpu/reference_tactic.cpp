// Every op's reference code as a tactic: the last resort that is always there. Reference code sees row-major operands
// only, so operands in another layout pass through the workspace. The operand lists it reads are prepared when the kernel
// loads; a kernel is shared by contexts, so each run borrows one of a few prepared sets.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cctype>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "runtime/ops/element.h"
#include "runtime/tactic.h"

namespace ingot::cpu {
namespace {

constexpr int kMaxSets = 8;  // more runs of one kernel at the same instant wait for each other

size_t aligned_bytes(const Operand& operand) {
  const int64_t count = operand.max_shape.elements();
  const size_t bytes = count < 0 ? 0 : static_cast<size_t>(count) * element_bytes(operand.type.dtype);
  return (bytes + 63) / 64 * 64;
}

bool needs_conversion(const Operand& operand) { return operand.present && operand.type.layout != Layout::kLinear; }

// Copies [outer][rows][columns] to [outer][columns][rows].
template <class T>
void transpose(const void* from, void* to, int64_t outer, int64_t rows, int64_t columns) {
  const T* source = static_cast<const T*>(from);
  T* target = static_cast<T*>(to);
  for (int64_t n = 0; n < outer; ++n, source += rows * columns, target += rows * columns)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) target[c * rows + r] = source[r * columns + c];
}

// Channels last ↔ row-major: dim 1 and the product of the dims behind it change places.
void convert(const void* from, void* to, const Shape& shape, size_t element, bool to_linear) {
  int64_t inner = 1;
  for (int i = 2; i < shape.rank; ++i) inner *= shape[i];
  const int64_t rows = to_linear ? inner : shape[1], columns = to_linear ? shape[1] : inner;
  switch (element) {
    case 1: return transpose<uint8_t>(from, to, shape[0], rows, columns);
    case 2: return transpose<uint16_t>(from, to, shape[0], rows, columns);
    case 4: return transpose<uint32_t>(from, to, shape[0], rows, columns);
    default: return transpose<uint64_t>(from, to, shape[0], rows, columns);
  }
}

// Ops whose arithmetic knows one scale per tensor. Others take one per channel, or don't look at scales.
bool scales_whole_tensors(OpKind op) {
  switch (op) {
    case OpKind::kBinary: case OpKind::kUnary: case OpKind::kMatMul: case OpKind::kPool: case OpKind::kReduce: case OpKind::kResize:
    case OpKind::kPad: case OpKind::kPointwiseChain: return true;
    default: return false;
  }
}

// Operands as reference code wants them, for one run at a time.
struct OperandSet {
  std::vector<TensorType> varying;  // types of the operands whose shape changes
  std::vector<ConstTensorRef> inputs;
  std::vector<TensorRef> outputs;
};

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const Problem& problem) : params_(problem.params) {
    size_t varying = 0, offset = 0;
    const auto add = [&](const Operand& operand) {
      Port& port = ports_.emplace_back();
      port.element = element_bytes(operand.type.dtype);
      port.varies = operand.present && !operand.type.shape.is_static();
      port.converts = needs_conversion(operand);
      port.offset = offset;
      if (port.converts) offset += aligned_bytes(operand);
      if (port.varies) ++varying;
      fixed_.push_back(operand.type);
      fixed_.back().layout = Layout::kLinear;
    };
    for (const Operand& operand : problem.inputs) add(operand);
    for (const Operand& operand : problem.outputs) add(operand);
    for (OperandSet& set : sets_) {
      set.varying.reserve(varying);  // pointers into it stay valid
      const auto type_of = [&](size_t port) -> TensorType* {
        if (!ports_[port].varies) return &fixed_[port];
        return &set.varying.emplace_back(fixed_[port]);
      };
      size_t port = 0;
      for (const Operand& operand : problem.inputs) {
        set.inputs.push_back({operand.present ? type_of(port) : nullptr, nullptr});
        ++port;
      }
      for (const Operand& operand : problem.outputs) {
        set.outputs.push_back({operand.present ? type_of(port) : nullptr, nullptr});
        ++port;
      }
    }
  }

  Status run(const KernelArgs& args) noexcept override {
    const uint32_t index = borrow();
    Status status = run_with(sets_[index], args);
    free_sets_.fetch_or(1u << index, std::memory_order_release);
    return status;
  }

 private:
  struct Port {
    bool varies = false, converts = false;
    size_t element = 0, offset = 0;  // offset: of its row-major copy in the workspace
  };

  uint32_t borrow() noexcept {
    uint32_t free = free_sets_.load(std::memory_order_relaxed);
    while (true) {
      if (free == 0) {
        std::this_thread::yield();
        free = free_sets_.load(std::memory_order_relaxed);
      } else if (free_sets_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                                  std::memory_order_relaxed)) {
        return static_cast<uint32_t>(std::countr_zero(free));
      }
    }
  }

  Status run_with(OperandSet& set, const KernelArgs& args) noexcept {
    std::byte* workspace = static_cast<std::byte*>(args.workspace);
    size_t port = 0, varying = 0;
    for (size_t i = 0; i < set.inputs.size(); ++i, ++port) {
      if (ports_[port].varies) set.varying[varying++].shape = args.input_shapes[i];
      set.inputs[i].data = args.inputs[i];
      if (!ports_[port].converts) continue;
      void* copy = workspace + ports_[port].offset;
      convert(args.inputs[i], copy, args.input_shapes[i], ports_[port].element, true);
      set.inputs[i].data = copy;
    }
    for (size_t i = 0; i < set.outputs.size(); ++i, ++port) {
      if (ports_[port].varies) set.varying[varying++].shape = args.output_shapes[i];
      set.outputs[i].data = ports_[port].converts ? workspace + ports_[port].offset : args.outputs[i];
      set.outputs[i].produced = args.produced_shapes.empty() ? nullptr : &args.produced_shapes[i];
    }
    INGOT_TRY(run_reference(params_, set.inputs, set.outputs));
    port = set.inputs.size();
    for (size_t i = 0; i < set.outputs.size(); ++i, ++port)
      if (ports_[port].converts)
        convert(set.outputs[i].data, args.outputs[i], args.output_shapes[i], ports_[port].element, false);
    return {};
  }

  const OpParams params_;
  std::vector<Port> ports_;           // inputs, then outputs
  std::vector<TensorType> fixed_;     // as ports_; shared by all sets where the shape does not vary
  std::array<OperandSet, kMaxSets> sets_;
  std::atomic<uint32_t> free_sets_{(1u << kMaxSets) - 1};
};

class ReferenceTactic final : public Tactic {
 public:
  explicit ReferenceTactic(OpKind op) : name_("cpu."), info_{{}, 1, op} {
    for (char c : to_string(op)) name_ += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    name_ += ".reference";
    info_.name = name_;
  }
  ReferenceTactic(const ReferenceTactic&) = delete;

  const TacticInfo& info() const override { return info_; }

  Support supports(const Problem& problem) const override {
    if (!scales_whole_tensors(info_.op)) return {};
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (const Operand& operand : operands)
        if (operand.present && !operand.is_constant && is_per_channel(operand.type)) return {"an operand has a scale per channel"};
    return {};
  }

  size_t workspace_bytes(const Problem& problem) const override {
    size_t bytes = 0;
    for (std::span<const Operand> operands : {problem.inputs, problem.outputs})
      for (const Operand& operand : operands)
        if (needs_conversion(operand)) bytes += aligned_bytes(operand);
    return bytes;
  }

  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty())
      return Status(StatusCode::kInvalidEngine, "packed constants: got " + std::to_string(blob.size()) + " bytes, need none");
    return std::unique_ptr<Kernel>(new ReferenceKernel(problem));
  }

 private:
  std::string name_;
  TacticInfo info_;
};

}  // namespace

std::span<const Tactic* const> reference_tactic() {
  static const std::vector<const Tactic*> tactics = [] {
    static std::deque<ReferenceTactic> storage;
    std::vector<const Tactic*> list;
    for (size_t i = 0; i < static_cast<size_t>(OpKind::kCount); ++i)
      list.push_back(&storage.emplace_back(static_cast<OpKind>(i)));
    return list;
  }();
  return tactics;
}

}  // namespace ingot::cpu
