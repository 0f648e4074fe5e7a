// Status and Expected: how every Ingot function that can fail says so.
//
//   ingot::Expected<ingot::Engine> engine = ingot::Engine::load_file("net.engine");
//   if (!engine.ok()) { std::cerr << engine.status().message() << '\n'; return 1; }
//
// Success costs one null pointer; an error carries a code and a sentence that says where, what, and what to do.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace ingot {

enum class StatusCode : uint8_t {
  kOk,
  kInvalidArgument,  // the caller passed something wrong
  kInvalidModel,     // the ONNX model is malformed
  kInvalidEngine,    // the engine file is damaged or makes no sense
  kUnsupported,      // well-formed, but uses something Ingot does not do
  kNotFound,         // a file or a name does not exist
  kVersionMismatch,  // format or tactic version differs
  kDeviceMismatch,   // no plan in the engine runs on this machine
  kOutOfMemory,
  kDeviceError,    // I/O or accelerator failure
  kCheckFailed,    // a verification or accuracy contract does not hold
  kInterrupted,    // the user asked to stop
  kInternal,       // a bug in Ingot
};

std::string_view to_string(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  Status(StatusCode code, std::string message);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;

  bool ok() const noexcept { return state_ == nullptr; }
  StatusCode code() const noexcept { return state_ ? state_->code : StatusCode::kOk; }
  std::string_view message() const noexcept { return state_ ? std::string_view(state_->message) : std::string_view(); }
  // Prepends "<where>: " to the message of an error; a success stays one.
  Status with_context(std::string_view where) &&;
  Status clone() const;

 private:
  struct State {
    StatusCode code;
    std::string message;
  };
  std::unique_ptr<State> state_;
};

// A T or the Status that says why there is none.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : value_(std::move(value)) {}
  Expected(Status status) : status_(std::move(status)) {}

  bool ok() const noexcept { return value_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const Status& status() const& noexcept { return status_; }
  Status&& status() && noexcept { return std::move(status_); }
  Status take_status() noexcept { return std::move(status_); }

  T& operator*() & noexcept { return *value_; }
  const T& operator*() const& noexcept { return *value_; }
  T&& operator*() && noexcept { return std::move(*value_); }
  T* operator->() noexcept { return &*value_; }
  const T* operator->() const noexcept { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

// The only two control-flow macros: return the error to the caller, or go on.
#define INGOT_TRY(expr)                                              \
  do {                                                               \
    if (::ingot::Status ingot_status = (expr); !ingot_status.ok()) return ingot_status; \
  } while (false)
#define INGOT_CONCAT_INNER(a, b) a##b
#define INGOT_CONCAT(a, b) INGOT_CONCAT_INNER(a, b)
#define INGOT_ASSIGN(declaration, expr)                                                          \
  auto INGOT_CONCAT(ingot_expected_, __LINE__) = (expr);                                         \
  if (!INGOT_CONCAT(ingot_expected_, __LINE__).ok())                                             \
    return INGOT_CONCAT(ingot_expected_, __LINE__).take_status();                                \
  declaration = *std::move(INGOT_CONCAT(ingot_expected_, __LINE__))

}  // namespace ingot
