// What is done with hostile engine bytes: load them and, if they load and are small, run them at the corners of the profile.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ingot/runtime.h"
#include "runtime/plan.h"

namespace ingot {

// True if the bytes loaded. Contexts are made and run only where that is quick.
inline bool try_engine(std::span<const std::byte> aligned_bytes, const RuntimeOptions& options = {}) {
  constexpr uint64_t kMostBytes = 1 << 16;  // of all tensors together; bounds the time of a run as well
  RuntimeOptions quick = options;
  quick.loop_limit = 100;
  Expected<Engine> engine = Engine::load(aligned_bytes, quick);
  if (!engine.ok()) return false;
  uint64_t bytes = engine->arena_bytes();
  for (size_t i = 0; i < engine->profiles(); ++i)
    for (const Slot& slot : engine->plan(i).slots) bytes += slot.bytes;
  if (bytes > kMostBytes) return true;
  Expected<ExecutionContext> context = engine->create_context();
  if (!context.ok()) return true;
  for (const TensorInfo& input : engine->inputs()) {
    const Buffer buffer = context->input_buffer(input.name);
    for (size_t i = 0; buffer.data && i < buffer.bytes; ++i) static_cast<unsigned char*>(buffer.data)[i] = static_cast<unsigned char>(i * 29);
  }
  for (const TensorInfo& output : engine->outputs()) context->output_buffer(output.name);
  for (const Shape TensorInfo::*corner : {&TensorInfo::opt, &TensorInfo::min, &TensorInfo::max}) {
    bool ok = true;
    for (const TensorInfo& input : engine->inputs()) ok = context->set_shape(input.name, input.*corner).ok() && ok;
    if (ok && !context->run().ok()) continue;  // an error is an answer
  }
  return true;
}

}  // namespace ingot
