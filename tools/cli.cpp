// CLI11 reports by exceptions; they end here.
#include "cli.h"

#include "data/file_bytes.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstring>
#include <iostream>
#include <nlohmann/json.hpp>

#ifdef INGOT_WITH_ONEDNN
#include "ingot/onednn.h"
#endif

namespace ingot::cli {
namespace {

std::atomic<bool> stop_requested{false};
std::FILE* json_stream = nullptr;  // the real standard output, once text was turned away from it
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler needs it");

extern "C" void on_interrupt(int) {
  stop_requested.store(true);
  std::signal(SIGINT, SIG_DFL);
}

std::string duration_text(double seconds) {
  const int64_t whole = static_cast<int64_t>(std::ceil(std::min(seconds, 1e9)));
  if (whole < 120) return std::to_string(whole) + " s";
  if (whole < 7200) return std::to_string((whole + 59) / 60) + " min";
  return std::to_string((whole + 3599) / 3600) + " h";
}

Status write_error(const std::string& path) {
  return {StatusCode::kDeviceError, path + ": cannot write: " + std::strerror(errno)};
}

}  // namespace

ExitCode exit_code(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kUnsupported:
    case StatusCode::kDeviceMismatch: return kExitUnsupported;
    case StatusCode::kInterrupted: return kExitInterrupted;
    default: return kExitFailed;
  }
}

ExitCode fail(std::string_view tool, const Status& status) {
  std::string line = std::string(tool) + ": error: " + std::string(status.message());
  const bool is_list = status.code() == StatusCode::kUnsupported || status.code() == StatusCode::kInvalidModel;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < ' ' && !(c == '\n' && is_list)) c = ' ';
  line += '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
  return exit_code(status.code());
}

ExitCode usage(std::string_view tool, std::string_view message) {
  (void)fail(tool, Status(StatusCode::kInvalidArgument, std::string(message) + "; see --help"));
  return kExitUsage;
}

ExitCode finish(std::string_view tool, const Status& status) {
  if (!status.ok()) return fail(tool, status);
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) return fail(tool, write_error("standard output"));
  return kExitOk;
}

void add_standard_options(CLI::App& app, StandardOptions& options) {
  app.set_version_flag("--version", std::string("ingot ") + INGOT_VERSION);
  app.add_option("--json", options.json_path, "write the result as JSON to FILE (- for standard output)")->type_name("FILE");
}

void add_backend_option(CLI::App& app, std::string& backend) {
  app.add_option("--backend", backend, "which plan of the engine: cpu, cuda (default: the best that this machine runs)")->check(CLI::IsMember({"cpu", "cuda"}));
}

void add_cpu_level_option(CLI::App& app, std::string& level) {
  app.add_option("--cpu-level", level, "uses no newer instructions than these")
      ->check(CLI::IsMember({"scalar", "avx2", "avx_vnni", "avx512_vnni"}));
}

std::optional<int> parse(CLI::App& app, int argc, const char* const* argv) {
#ifdef INGOT_WITH_ONEDNN
  add_onednn_tactics();  // any tool may meet an engine that uses them
#endif
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& done) {  // --help, --version
    return app.exit(done);
  } catch (const CLI::Error& error) {
    return usage(app.get_name(), error.what());
  }
}

CLI::Validator finite_range(double low, double high) {
  return CLI::Validator([low, high](const std::string& text) {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= low && value <= high) return std::string();
    return "got " + text + ", need a number from " + CLI::detail::to_string(low) + " to " + CLI::detail::to_string(high);
  }, "");
}

void keep_stdout_for_json(const StandardOptions& options) {
  if (options.json_path != "-" || json_stream) return;
  std::fflush(stdout);
  const int kept = ::dup(STDOUT_FILENO);
  if (kept < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return;
  json_stream = ::fdopen(kept, "wb");
}

void note_remark(std::string_view tool, const Engine& engine) {
  if (!engine.remark().empty())
    std::cerr << tool << ": note: on the CPU (" << engine.target() << "), the file's GPU plan is not taken: " << engine.remark() << '\n';
}

Status write_json(const StandardOptions& options, const nlohmann::json& report) {
  if (options.json_path.empty()) return {};
  // Tensor names may be any bytes; the file must be UTF-8.
  const std::string text = report.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  if (options.json_path == "-") {
    std::FILE* out = json_stream ? json_stream : stdout;
    const bool written = std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
    return written ? Status() : write_error("standard output");
  }
  return save_bytes(options.json_path, std::as_bytes(std::span(text)));
}

ProgressLine::ProgressLine(std::FILE* stream) : stream_(stream), enabled_(isatty(fileno(stream)) == 1) {}

std::string progress_text(std::string_view stage, int64_t done, int64_t total, double seconds_left) {
  std::string text(stage);
  if (total > 0) {
    text += ' ' + std::to_string(done) + '/' + std::to_string(total);
  } else if (done > 0) {
    text += ' ' + std::to_string(done);
  }
  if (seconds_left >= 0) text += ", " + duration_text(seconds_left) + " left";
  return text;
}

void ProgressLine::update(std::string_view stage, int64_t done, int64_t total, double seconds_left) {
  if (!enabled_) return;
  const std::string text = progress_text(stage, done, total, seconds_left);
  std::string line = '\r' + text;
  if (text.size() < width_) line.append(width_ - text.size(), ' ');
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
  width_ = text.size();
}

void ProgressLine::clear() {
  if (!enabled_ || width_ == 0) return;
  const std::string line = '\r' + std::string(width_, ' ') + '\r';
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
  width_ = 0;
}

const std::atomic<bool>* stop_on_interrupt() {
  std::signal(SIGINT, on_interrupt);
  return &stop_requested;
}

}  // namespace ingot::cli
