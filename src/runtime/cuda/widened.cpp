// Ops on f16 and bf16 by the float tactics (runtime/widened.h), those on Tensor Cores first, and casts between them and f32.
#include <deque>
#include <vector>

#include "runtime/cuda/kernel_params.h"
#include "runtime/cuda/plain_tactic.h"
#include "runtime/widened.h"

namespace ingot::cuda {

#define INGOT_CUDA_TACTICS(name) std::span<const Tactic* const> name();
#include "runtime/cuda/tactics.inc"
#undef INGOT_CUDA_TACTICS

namespace {

class Conversion final : public HalfConversion {
 public:
  Conversion(Device& device, CUfunction function) : device_(device), function_(function) {}
  Status widen(DataType type, const void* from, void* to, int64_t count, const KernelArgs& args) const noexcept override {
    return convert(type, DataType::kF32, from, to, count, args);
  }
  Status narrow(DataType type, const void* from, void* to, int64_t count, const KernelArgs& args) const noexcept override {
    return convert(DataType::kF32, type, from, to, count, args);
  }

 private:
  Status convert(DataType from_type, DataType to_type, const void* from, void* to, int64_t count, const KernelArgs& args) const {
    const cuda::CastParams params{from, to, count, static_cast<int32_t>(from_type), static_cast<int32_t>(to_type)};
    return launch(device_, function_, {blocks_for(count)}, kThreads, 0, args.stream, params);
  }
  Device& device_;
  CUfunction function_;
};
Expected<std::unique_ptr<HalfConversion>> make_conversion(const Problem&) {
  INGOT_ASSIGN(Device* const device, Device::first());
  INGOT_ASSIGN(const CUfunction function, device->function("cast_halves", 0));
  return std::unique_ptr<HalfConversion>(std::make_unique<Conversion>(*device, function));
}

const char* refuse_cast(const Problem& problem) {
  const TensorType &x = problem.inputs[0].type, &y = problem.outputs[0].type;
  if (x.layout != y.layout) return "layouts differ";
  return (is_half(x.dtype) && y.dtype == DataType::kF32) || (x.dtype == DataType::kF32 && is_half(y.dtype)) ? nullptr : "not between f32 and f16 or bf16";
}
Expected<std::unique_ptr<Kernel>> load_cast(const Problem& problem, Device& device) {
  cuda::CastParams params{};
  params.from = static_cast<int32_t>(problem.inputs[0].type.dtype);
  params.to = static_cast<int32_t>(problem.outputs[0].type.dtype);
  return make_simple(device, "cast_halves", DeviceMemory(), params, [](cuda::CastParams& p, const KernelArgs& args) {
    p.x = args.inputs[0];
    p.y = args.outputs[0];
    p.elements = args.output_shapes[0].elements();
  });
}

struct Table {
  PlainTactic cast{OpKind::kCast, "cuda.cast.half", refuse_cast, load_cast};
  std::deque<WidenedTactic> tactics;
  std::vector<const Tactic*> list;
  Table() {
    list.push_back(&cast);
    for (const auto& floats : {igemm_f16(), simt_f32(), conv_transpose_f32(), attention_f16(), rows_f32(), pointwise_f32(), normalize_f32(), reduce(), resize(), recurrent()})
      for (const Tactic* tactic : floats)
        if (tactic->info().op != OpKind::kCast && tactic->info().name != "cuda.resize.nearest") list.push_back(&tactics.emplace_back(*tactic, make_conversion));
  }
};

}  // namespace

std::span<const Tactic* const> widened() {
  static const Table table;
  return table.list;
}

}  // namespace ingot::cuda
