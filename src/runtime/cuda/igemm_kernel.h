// Launches of a Tensor Core layer: x packed where it has to be, products, and slices of k added up where there are several.
#pragma once

#include <string>

#include "runtime/cuda/f32_layer.h"
#include "runtime/cuda/igemm_plan.h"
#include "runtime/cuda/launch.h"

namespace ingot::cuda {

struct IgemmFunctions {
  CUfunction pack = nullptr, multiply = nullptr, sum = nullptr;
};
// type: "s8", "f16" or "bf16", as in the kernels' names.
inline Expected<IgemmFunctions> igemm_functions(Device& device, const IgemmPlan& plan, const IgemmVariant& variant, const std::string& type) {
  IgemmFunctions f;
  INGOT_ASSIGN(f.multiply, device.function(("igemm_" + type + "_" + variant.tile.name() + "_" + plan.loader()).c_str(), variant.tile.shared_bytes()));
  if (plan.packs) {
    INGOT_ASSIGN(f.pack, device.function(("pack_" + type).c_str(), 0));
  }
  if (variant.split) {
    INGOT_ASSIGN(f.sum, device.function(type == "s8" ? "igemm_s8_sum" : "igemm_f16_sum", 0));
  }
  return f;
}

inline void bind_epilogue(Epilogue& epilogue, const KernelArgs& args) {
  epilogue.out = args.outputs[0];
  if (epilogue.residual_stored != Stored::kNone) epilogue.residual = args.inputs[3];
}

template <class Params>
class IgemmKernel final : public Kernel {
 public:
  // fill: the element that stands for padding, where x is packed.
  IgemmKernel(Device& device, IgemmPlan plan, const IgemmVariant& variant, int64_t slices, const IgemmFunctions& functions, DeviceMemory memory,
              const Params& params, bool x_last, int32_t fill)
      : device_(device), plan_(std::move(plan)), tile_(variant.tile), slices_(slices), functions_(functions), memory_(std::move(memory)),
        params_(params), x_last_(x_last), fill_(fill) {}

  Status run(const KernelArgs& args) noexcept override {
    Params params = params_;
    plan_.set_sizes(params.image, params.rows, args.input_shapes[0], args.output_shapes[0]);
    if (params.rows == 0) return {};
    params.x = static_cast<const uint8_t*>(args.inputs[0]);
    bind_epilogue(params.epilogue, args);
    auto* workspace = static_cast<std::byte*>(args.workspace);
    if (plan_.packs) {
      PackParams pack = plan_.pack_params(params.image, params.rows, x_last_, fill_);
      pack.x = args.inputs[0];
      pack.y = workspace;
      INGOT_TRY(launch(device_, functions_.pack, {blocks_for(pack.elements)}, kThreads, 0, args.stream, pack));
      params.x = reinterpret_cast<const uint8_t*>(workspace);
      workspace += (pack.elements * 16 + 255) / 256 * 256;
    }
    if (plan_.packs_rows) {
      params.image.in_w = params.image.out_w;
      params.image.pad_w = 0;
    }
    const Grid grid{blocks_for(params.rows, tile_.rows), static_cast<int>(blocks_for(params.outputs, tile_.outputs)),
                    static_cast<int>(plan_.groups * slices_)};
    if (functions_.sum) {
      params.partial = workspace;
      params.slices = static_cast<int32_t>(slices_);
      params.slice_steps = static_cast<int32_t>(blocks_for(plan_.steps(), slices_));
    }
    INGOT_TRY(launch(device_, functions_.multiply, grid, tile_.threads(), tile_.shared_bytes(), args.stream, params));
    if (!functions_.sum) return {};
    return launch(device_, functions_.sum, {blocks_for(params.rows * (params.partial_pitch / 4))}, kThreads, 0, args.stream, params);
  }

 private:
  Device& device_;
  IgemmPlan plan_;
  IgemmTile tile_;
  int64_t slices_;
  IgemmFunctions functions_;
  DeviceMemory memory_;
  Params params_;
  bool x_last_;
  int32_t fill_;
};

}  // namespace ingot::cuda
