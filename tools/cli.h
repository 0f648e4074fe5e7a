// What all command-line tools share: options --version and --json, exit codes, one-line errors, a progress line, Ctrl-C.
#pragma once

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "ingot/runtime.h"
#include "ingot/status.h"

namespace ingot::cli {

// Exit codes of every tool.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailed = 1,       // a check failed, or an input is invalid
  kExitUsage = 2,        // the command line makes no sense
  kExitUnsupported = 3,  // well-formed, but not something Ingot or this machine does
  kExitInterrupted = 130  // as shells report Ctrl-C
};
ExitCode exit_code(StatusCode code);

// Prints "<tool>: error: <message>" to stderr and returns the exit code. It is one line (line breaks become blanks), but for
// what is wrong with a model, which may be a list.
ExitCode fail(std::string_view tool, const Status& status);

// The same for a command line that makes no sense.
ExitCode usage(std::string_view tool, std::string_view message);
// The end of a tool: fails if the status does, or if what was printed did not reach standard output.
ExitCode finish(std::string_view tool, const Status& status);

// --version and --json FILE ("-" is stdout).
struct StandardOptions {
  std::string json_path;
};
void add_standard_options(CLI::App& app, StandardOptions& options);
// --cpu-level, one of the instruction sets that the runtime knows.
void add_cpu_level_option(CLI::App& app, std::string& level);
void add_backend_option(CLI::App& app, std::string& backend);
// nullopt: go on; otherwise the exit code (help and version were printed, or the usage error was).
std::optional<int> parse(CLI::App& app, int argc, const char* const* argv);
// A number within both ends; NaN is in no range.
CLI::Validator finite_range(double low, double high);
// With --json -, text meant for people goes to stderr from here on, so that standard output is JSON alone. Call after parse().
void keep_stdout_for_json(const StandardOptions& options);
// Why a better plan of the file was not taken, as one line of standard error; nothing where there is nothing to say.
void note_remark(std::string_view tool, const Engine& engine);
// Does nothing if no path was given. Writes beside the target and renames.
Status write_json(const StandardOptions& options, const nlohmann::json& report);

// A line that rewrites itself, on a terminal only: "tuning 12/80, 14 s left".
class ProgressLine {
 public:
  explicit ProgressLine(std::FILE* stream = stderr);
  ProgressLine(std::FILE* stream, bool enabled) : stream_(stream), enabled_(enabled) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void update(std::string_view stage, int64_t done, int64_t total, double seconds_left = -1);
  void clear();  // before anything else is printed

 private:
  std::FILE* stream_;
  bool enabled_;
  size_t width_ = 0;  // of the line now shown
};
std::string progress_text(std::string_view stage, int64_t done, int64_t total, double seconds_left);

// Set by the first Ctrl-C from then on; a second one ends the program at once.
const std::atomic<bool>* stop_on_interrupt();

}  // namespace ingot::cli
