// Builds and runs a model in a child process with little memory and time, so that a signal, a hang or a bomb fails one test
// and not the whole program. What the child answers comes back through a pipe.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "ingot/builder.h"
#include "onnx_model_maker.h"

namespace ingot {

struct Limits {
  int64_t memory_bytes = int64_t{1} << 30;  // address space beyond what the test program has already
  unsigned seconds = 20;
};

struct Outcome {
  int signal = 0;  // that ended the child; 0: it answered
  StatusCode code = StatusCode::kInternal;
  std::string message;
  double seconds = 0;
  int64_t peak_bytes = 0;  // resident
};

// A folder of the test's own that goes with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ingot_bad_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

namespace guarded {

inline Status build_and_run(const std::string& path, const BuildOptions& options, std::span<const NamedTensor> feed) {
  INGOT_ASSIGN(Engine engine, build_and_load(path, options));
  INGOT_ASSIGN(ExecutionContext context, engine.create_context());
  if (feed.empty() && !engine.inputs().empty()) return {};  // the build's own verification ran it
  for (const TensorInfo& output : engine.outputs()) (void)context.output_buffer(output.name);
  INGOT_TRY(feed_sample(context, engine, feed));
  return context.run();
}

inline void limit_this_process(const Limits& limits) {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0;
  statm >> pages;
  const rlim_t memory = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + limits.memory_bytes);
  const rlimit address{memory, memory}, cpu{limits.seconds, limits.seconds}, core{0, 0};
  ::setrlimit(RLIMIT_AS, &address);
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::setrlimit(RLIMIT_CORE, &core);
  ::alarm(limits.seconds * 4);  // a child that sleeps
}

}  // namespace guarded

inline Outcome build_guarded(const std::string& path, const Limits& limits = {}, BuildOptions options = {},
                             std::span<const NamedTensor> feed = {}) {
  options.tune = false;
  int ends[2];
  if (::pipe(ends) != 0) return {SIGPIPE, StatusCode::kInternal, "no pipe", 0, 0};
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    guarded::limit_this_process(limits);
    const Status status = guarded::build_and_run(path, options, feed);
    std::string answer(1, static_cast<char>(status.code()));
    answer += status.message();
    size_t sent = 0;
    while (sent < answer.size()) {
      const ssize_t count = ::write(ends[1], answer.data() + sent, answer.size() - sent);
      if (count <= 0) ::_exit(1);
      sent += static_cast<size_t>(count);
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string answer;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  Outcome outcome;
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  outcome.peak_bytes = usage.ru_maxrss * 1024;
  if (WIFSIGNALED(status) || answer.empty()) {
    outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : SIGABRT;
    return outcome;
  }
  outcome.code = static_cast<StatusCode>(answer[0]);
  outcome.message = answer.substr(1);
  return outcome;
}

// An answer at all, and one that a person can read: no line without end, no bytes that a terminal would obey.
inline void expect_readable(const Outcome& outcome) {
  EXPECT_EQ(outcome.signal, 0) << "ended by a signal after " << outcome.seconds << " s: " << ::strsignal(outcome.signal);
  if (outcome.signal != 0 || outcome.code == StatusCode::kOk) return;
  EXPECT_NE(outcome.code, StatusCode::kInternal) << outcome.message;
  EXPECT_FALSE(outcome.message.empty());
  size_t line = 0;
  for (const char c : outcome.message) {
    line = c == '\n' ? 0 : line + 1;
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= ' ') << outcome.message;
    if (line > 3000) {
      ADD_FAILURE() << "a line without end: " << outcome.message.substr(0, 300);
      break;
    }
  }
}

inline Outcome build_guarded(const ModelMaker& model, const Limits& limits = {}, const BuildOptions& options = {},
                             std::span<const NamedTensor> feed = {}) {
  const ScratchFolder folder;
  return build_guarded(folder.write("model.onnx", model.bytes()), limits, options, feed);
}

// Refused with this code, and with this in the text.
inline void expect_refused(const Outcome& outcome, StatusCode code, const std::string& part) {
  expect_readable(outcome);
  if (outcome.signal != 0) return;
  EXPECT_EQ(to_string(outcome.code), to_string(code)) << outcome.message;
  EXPECT_NE(outcome.message.find(part), std::string::npos) << "need '" << part << "' in: " << outcome.message;
}
inline void expect_refused(const ModelMaker& model, StatusCode code, const std::string& part) {
  expect_refused(build_guarded(model), code, part);
}
inline void expect_malformed(const ModelMaker& model, const std::string& part) {
  expect_refused(model, StatusCode::kInvalidModel, part);
}

}  // namespace ingot
