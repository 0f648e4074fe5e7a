// A context's making, for engine.cpp alone; its interface is ingot/runtime.h.
#pragma once

#include <memory>

#include "runtime/loaded_engine.h"

namespace ingot {

Expected<ExecutionContext> make_context(std::shared_ptr<const Engine::Impl> engine);

}  // namespace ingot
