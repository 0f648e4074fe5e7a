// PTX text to a module whose kernels are ready to run. Functions are inlined at their calls, so that no kernel needs a
// stack.
#pragma once

#include <memory>
#include <string_view>

#include "ptx/device_memory.h"
#include "ptx/program.h"

namespace ingot::ptx {

// The module's variables are allocated and initialised in `memory`. Throws PtxError: "ptx: line 12: <what>: got …" for
// text that is not PTX and for all that this interpreter does not know.
std::unique_ptr<Module> parse_module(std::string_view text, DeviceMemory& memory);

}  // namespace ingot::ptx
