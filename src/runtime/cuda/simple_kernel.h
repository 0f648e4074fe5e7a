// Kernels with one thread per element, whose parameters are fixed but for addresses and sizes; and tactics without a blob.
#pragma once

#include <string>

#include "runtime/cuda/launch.h"
#include "runtime/tactic.h"

namespace ingot::cuda {

inline Status no_blob(const TacticInfo& info, std::span<const std::byte> blob) {
  if (blob.empty()) return {};
  return Status(StatusCode::kInvalidEngine, std::string(info.name) + ": packed constants: got some, need none");
}

// `Bind` fills in addresses and sizes of one run; params.elements counts the threads.
template <class Params, class Bind>
class SimpleKernel final : public Kernel {
 public:
  SimpleKernel(Device& device, CUfunction function, DeviceMemory memory, const Params& params, Bind bind)
      : device_(device), function_(function), memory_(std::move(memory)), params_(params), bind_(std::move(bind)) {}
  Status run(const KernelArgs& args) noexcept override {
    Params params = params_;
    bind_(params, args);
    return launch(device_, function_, {blocks_for(params.elements)}, kThreads, 0, args.stream, params);
  }

 private:
  Device& device_;
  CUfunction function_;
  DeviceMemory memory_;
  Params params_;
  Bind bind_;
};
template <class Params, class Bind>
Expected<std::unique_ptr<Kernel>> make_simple(Device& device, const char* name, DeviceMemory memory, const Params& params, Bind bind) {
  INGOT_ASSIGN(const CUfunction function, device.function(name, 0));
  return std::unique_ptr<Kernel>(std::make_unique<SimpleKernel<Params, Bind>>(device, function, std::move(memory), params, std::move(bind)));
}

}  // namespace ingot::cuda
