// Exit codes, error lines, standard options, JSON, progress text and Ctrl-C.
#include "cli.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "fixtures.h"

namespace ingot::cli {
namespace {

TEST(Cli, ExitCodes) {
  EXPECT_EQ(exit_code(StatusCode::kOk), 0);
  EXPECT_EQ(exit_code(StatusCode::kCheckFailed), 1);
  EXPECT_EQ(exit_code(StatusCode::kInvalidModel), 1);
  EXPECT_EQ(exit_code(StatusCode::kNotFound), 1);
  EXPECT_EQ(exit_code(StatusCode::kUnsupported), 3);
  EXPECT_EQ(exit_code(StatusCode::kInterrupted), 130);
}

TEST(Cli, ErrorsAreOneLineButForListsOfAModel) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(fail("engine-build", Status(StatusCode::kDeviceError, "two\n\x1blines")), kExitFailed);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "engine-build: error: two  lines\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(fail("engine-build", Status(StatusCode::kUnsupported, "two\n\x1blines")), kExitUnsupported);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "engine-build: error: two\n lines\n");
}

TEST(Cli, ParseReportsUsage) {
  const auto run = [](std::vector<const char*> words, std::string* json = nullptr) {
    CLI::App app("builds", "engine-build");
    StandardOptions options;
    add_standard_options(app, options);
    int threads = 1;
    app.add_option("--threads", threads);
    words.insert(words.begin(), "engine-build");
    const auto result = parse(app, static_cast<int>(words.size()), words.data());
    if (json) *json = options.json_path;
    return result;
  };
  std::string json;
  EXPECT_FALSE(run({"--threads", "2", "--json", "out.json"}, &json).has_value());
  EXPECT_EQ(json, "out.json");
  testing::internal::CaptureStdout();
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), std::string("ingot ") + INGOT_VERSION + "\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(run({"--nonsense"}), kExitUsage);
  EXPECT_EQ(run({"--threads", "x"}), kExitUsage);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(text.starts_with("engine-build: error: ")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(Cli, WritesJson) {
  const TemporaryFolder folder;
  const nlohmann::json report = {{"layers", 3}, {"name", "bad \xff utf8"}};
  ASSERT_TRUE(write_json({folder / "r.json"}, report).ok());
  std::stringstream text;
  text << std::ifstream(folder / "r.json").rdbuf();
  EXPECT_EQ(nlohmann::json::parse(text.str())["layers"], 3);
  EXPECT_TRUE(write_json({}, report).ok());
  EXPECT_NE(write_json({folder / "no/r.json"}, report).message().find("cannot write"), std::string_view::npos);
  testing::internal::CaptureStdout();
  ASSERT_TRUE(write_json({"-"}, nlohmann::json::array()).ok());
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "[]\n");
}

TEST(Cli, ProgressRewritesItsLineOnATerminalOnly) {
  EXPECT_EQ(progress_text("tuning", 12, 80, 13.2), "tuning 12/80, 14 s left");
  EXPECT_EQ(progress_text("calibrating", 5, 0, -1), "calibrating 5");
  EXPECT_EQ(progress_text("verifying", 0, 0, 600), "verifying, 10 min left");
  char buffer[256] = {};
  std::FILE* stream = fmemopen(buffer, sizeof buffer, "w");
  {
    ProgressLine off(stream);  // no terminal
    off.update("x", 1, 2);
    ProgressLine line(stream, true);
    line.update("tuning", 9, 10, 5);
    line.update("done", 0, 0);
  }
  std::fclose(stream);
  EXPECT_EQ(std::string(buffer), "\rtuning 9/10, 5 s left\rdone" + std::string(17, ' ') + "\r    \r");
}

TEST(Cli, InterruptSetsTheFlagOnce) {
  const std::atomic<bool>* stop = stop_on_interrupt();
  EXPECT_FALSE(*stop);
  std::raise(SIGINT);
  EXPECT_TRUE(*stop);
  EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_DFL);  // a second one would end the program
}

}  // namespace
}  // namespace ingot::cli
