// Ops on f16 and bf16 by the float32 tactics (runtime/widened.h), and casts between them and f32.
#include <deque>
#include <vector>

#include "runtime/cpu/half_rows.h"
#include "runtime/thread_pool.h"
#include "runtime/widened.h"

namespace ingot::cpu {

#define INGOT_CPU_TACTICS(name) std::span<const Tactic* const> name();
#include "runtime/cpu/tactics.inc"
#undef INGOT_CPU_TACTICS

namespace {

class Conversion final : public HalfConversion {
 public:
  explicit Conversion(const HalfRows& rows) : rows_(rows) {}
  Status widen(DataType type, const void* from, void* to, int64_t count, const KernelArgs& args) const noexcept override {
    return convert(type == DataType::kF16 ? rows_.widen_f16 : rows_.widen_bf16, static_cast<const uint16_t*>(from), static_cast<float*>(to), count, args);
  }
  Status narrow(DataType type, const void* from, void* to, int64_t count, const KernelArgs& args) const noexcept override {
    return convert(type == DataType::kF16 ? rows_.narrow_f16 : rows_.narrow_bf16, static_cast<const float*>(from), static_cast<uint16_t*>(to), count, args);
  }

 private:
  template <class Rows, class From, class To>
  static Status convert(Rows rows, const From* from, To* to, int64_t count, const KernelArgs& args) {
    constexpr int64_t kGrain = 1 << 14;
    args.pool->parallel_for(count, kGrain, [&](int64_t begin, int64_t end, int) { rows(from + begin, to + begin, end - begin); });
    return {};
  }
  const HalfRows& rows_;
};
Expected<std::unique_ptr<HalfConversion>> make_conversion(const Problem& problem) {
  return std::unique_ptr<HalfConversion>(std::make_unique<Conversion>(half_rows(problem.device.cpu)));
}

// Between f32 and a 16-bit float, which is what surrounds layers that an exporter keeps in f32.
class HalfCastKernel final : public Kernel {
 public:
  explicit HalfCastKernel(const Problem& problem)
      : from_(problem.inputs[0].type.dtype), to_(problem.outputs[0].type.dtype), rows_(half_rows(problem.device.cpu)) {}
  Status run(const KernelArgs& args) noexcept override {
    constexpr int64_t kGrain = 1 << 14;
    args.pool->parallel_for(args.output_shapes[0].elements(), kGrain, [&](int64_t begin, int64_t end, int) {
      if (from_ == DataType::kF32) {
        const auto narrow = to_ == DataType::kF16 ? rows_.narrow_f16 : rows_.narrow_bf16;
        narrow(static_cast<const float*>(args.inputs[0]) + begin, static_cast<uint16_t*>(args.outputs[0]) + begin, end - begin);
      } else {
        const auto widen = from_ == DataType::kF16 ? rows_.widen_f16 : rows_.widen_bf16;
        widen(static_cast<const uint16_t*>(args.inputs[0]) + begin, static_cast<float*>(args.outputs[0]) + begin, end - begin);
      }
    });
    return {};
  }

 private:
  DataType from_, to_;
  const HalfRows& rows_;
};

class HalfCastTactic final : public Tactic {
 public:
  const TacticInfo& info() const override {
    static constexpr TacticInfo kInfo{"cpu.cast.half", 1, OpKind::kCast};
    return kInfo;
  }
  Support supports(const Problem& problem) const override {
    const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
    if (x.layout != y.layout) return {"layouts differ"};
    const bool fits = (is_half(x.dtype) && y.dtype == DataType::kF32) || (x.dtype == DataType::kF32 && is_half(y.dtype));
    return {fits ? nullptr : "not between f32 and f16 or bf16"};
  }
  Expected<std::unique_ptr<Kernel>> load(const Problem& problem, std::span<const std::byte> blob) const override {
    if (!blob.empty()) return Status(StatusCode::kInvalidEngine, "cast: packed constants: got some, need none");
    return std::unique_ptr<Kernel>(std::make_unique<HalfCastKernel>(problem));
  }
};

struct Table {
  HalfCastTactic cast;
  std::deque<WidenedTactic> tactics;
  std::vector<const Tactic*> list;
  Table() {
    list.push_back(&cast);
    for (const auto& floats : {depthwise_f32(), conv_f32(), matmul_f32(), conv_transpose_f32(), pointwise_f32(), attention_f32(), recurrent_f32(), deform_conv_f32(),
                               normalize_f32(), reduce_f32(), pool_f32(), resize_move()})
      for (const Tactic* tactic : floats)
        if (tactic->info().name.find("f32") != std::string_view::npos) list.push_back(&tactics.emplace_back(*tactic, make_conversion));
  }
};

}  // namespace

std::span<const Tactic* const> widened() {
  static const Table table;
  return table.list;
}

}  // namespace ingot::cpu
