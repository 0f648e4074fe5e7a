// oneDNN's tactics in an engine: only where permitted, and then as bound by threads and places as all others.
#include <nlohmann/json.hpp>

#include "e2e/digits_fixture.h"

#ifdef INGOT_WITH_ONEDNN
#include "ingot/onednn.h"
#endif

namespace ingot {
namespace {

BuildOptions float_options() {
  BuildOptions options = digits::int8_options();
  options.int8 = false;
  return options;
}

TEST(TacticLibraries, UnknownOnesAreRefused) {
  BuildOptions options = float_options();
  for (const char* name : {"onetnn", ""}) {
    options.tactic_libraries = {name};
    const auto engine = build_and_load(digits::model(), options);
    ASSERT_FALSE(engine.ok());
    EXPECT_NE(engine.status().message().find("tactics: this program has none of '" + std::string(name) + "'"), std::string::npos) << engine.status().message();
  }
}

#ifdef INGOT_WITH_ONEDNN
bool uses_onednn(const BuildResult& built) {
  const auto report = nlohmann::json::parse(built.report_json);
  bool used = false;
  for (const auto& layer : report["layers"]) used = used || layer["tactic"].get<std::string>().find(".onednn.") != std::string::npos;
  EXPECT_EQ(report["run_allocates"].get<bool>(), used);
  return used;
}

// A timing cache in which oneDNN always wins.
std::string favourable_cache() {
  const std::string path = testing::TempDir() + "ingot_onednn.cache", edited = path + ".edited";
  std::remove(path.c_str());
  BuildOptions options = float_options();
  options.tune = true;
  options.tactic_libraries = {"onednn"};
  options.timing_cache = path;
  EXPECT_TRUE(build(digits::model(), options).ok());
  std::istringstream lines(digits::read_text(path));
  std::ofstream out(edited);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("onednn") != std::string::npos) line = "0.01" + line.substr(line.find('\t'));
    out << line << '\n';
  }
  return edited;
}

TEST(Onednn, IsUsedOnlyWherePermittedAndSaysSo) {
  add_onednn_tactics();
  add_onednn_tactics();  // changes nothing
  BuildOptions options = float_options();
  options.tune = true;
  options.timing_cache = favourable_cache();
  auto plain = build(digits::model(), options);
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_FALSE(uses_onednn(*plain));
  EXPECT_NE(plain->report_json.find("its runs allocate: needs --tactics onednn"), std::string::npos);
  EXPECT_FALSE(build_and_load(digits::model(), options)->run_allocates());

  options.tactic_libraries = {"onednn"};
  auto permitted = build(digits::model(), options);
  ASSERT_TRUE(permitted.ok()) << permitted.status().message();
  if (!uses_onednn(*permitted)) GTEST_SKIP() << "oneDNN serves no layer on this machine";
  const auto engine = build_and_load(digits::model(), options);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_TRUE(engine->run_allocates());

  const auto rows = digits::images(20);
  const auto one = digits::run(*engine, rows, 1);
  EXPECT_GE(digits::accuracy(digits::run(*engine, digits::images(1000), 16)), 98.0);
  EXPECT_TRUE(digits::same_bytes(one, digits::run(*engine, rows, 7)));
  const std::string path = testing::TempDir() + "ingot_onednn.engine";
  ASSERT_TRUE(write_file_atomically(path, permitted->engine).ok());
  const auto two = Engine::load_file(path, {.threads = 2});
  ASSERT_TRUE(two.ok()) << two.status().message();
  EXPECT_TRUE(digits::same_bytes(one, digits::run(*two, rows, 7)));
}
#endif

}  // namespace
}  // namespace ingot
