// Bodies of ingot/status.h.
#include "ingot/status.h"

namespace ingot {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "ok";
    case StatusCode::kInvalidArgument: return "invalid argument";
    case StatusCode::kInvalidModel: return "invalid model";
    case StatusCode::kInvalidEngine: return "invalid engine";
    case StatusCode::kUnsupported: return "unsupported";
    case StatusCode::kNotFound: return "not found";
    case StatusCode::kVersionMismatch: return "version mismatch";
    case StatusCode::kDeviceMismatch: return "device mismatch";
    case StatusCode::kOutOfMemory: return "out of memory";
    case StatusCode::kDeviceError: return "device error";
    case StatusCode::kCheckFailed: return "check failed";
    case StatusCode::kInterrupted: return "interrupted";
    case StatusCode::kInternal: return "internal error";
  }
  return "unknown";
}

Status::Status(StatusCode code, std::string message) : state_(new State{code, std::move(message)}) {}

Status Status::with_context(std::string_view where) && {
  if (state_) state_->message.insert(0, std::string(where) + ": ");
  return std::move(*this);
}

Status Status::clone() const { return ok() ? Status() : Status(state_->code, state_->message); }

}  // namespace ingot
