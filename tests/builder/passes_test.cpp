// Runs tests/cases/passes/<pass>[_<more>].graph. A file holds cases `case <name>`, each with a `before:` and an `after:`
// section in the graph text grammar; `after: same` stands for a pass that must not fire. Besides the graph, its results are
// compared: before and after must compute the same, at every probe. Before them may stand
//   ranges:              a calibration table follows, one tensor a line as in its file; the pass runs with --int8
//   options: fp16, float=NAME
//   tolerance: NAME      what the pass may do to the numbers, by pass_tolerance() of tolerance.h; else "float"
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "builder/graph/graph_verifier.h"
#include "builder/run_passes.h"
#include "builder/passes/passes.h"
#include "graph_check.h"
#include "tolerance.h"

namespace ingot {
namespace {

constexpr Pass kUnlisted[] = {INGOT_PASS(fuse_attention)};

std::vector<Pass> tested_passes() {
  std::vector<Pass> passes;
  for (const auto& list : {std::span<const Pass>(kCanonicalisePasses), std::span<const Pass>(kFusePasses), std::span<const Pass>(kQuantisePasses), std::span<const Pass>(kUnlisted)})
    for (const Pass& pass : list)
      if (std::none_of(passes.begin(), passes.end(), [&](const Pass& p) { return p.name == pass.name; })) passes.push_back(pass);
  return passes;
}

struct PassCase {
  std::string file, name, before, after;
  Pass pass;
  std::string ranges, options, tolerance = "float";

  // What a builder would hand to the pass; an error for options or ranges that make no sense.
  Expected<BuildOptions> build_options() const {
    BuildOptions built;
    if (!ranges.empty()) {
      INGOT_ASSIGN(built.calibration_table, CalibrationTable::parse("ingot-calibration 1\n" + ranges));
      built.int8 = true;
    }
    std::istringstream words(options);
    for (std::string word; words >> word;) {
      if (word == "fp16") built.fp16 = true;
      else if (word.starts_with("float=")) built.float_layers.push_back(word.substr(6));
      else return Status(StatusCode::kInvalidArgument, "unknown option '" + word + "'");
    }
    return built;
  }
};

std::vector<PassCase> read_file(const std::filesystem::path& path) {
  std::vector<PassCase> cases;
  const std::string stem = path.stem().string();
  Pass pass{"", nullptr};
  for (const Pass& candidate : tested_passes())
    if (stem.starts_with(candidate.name) && candidate.name.size() > pass.name.size()) pass = candidate;
  std::ifstream file(path);
  std::string* section = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("case ")) {
      cases.push_back({stem, line.substr(5), "", "", pass, "", ""});
      section = nullptr;
    } else if (line == "ranges:" && !cases.empty()) {
      section = &cases.back().ranges;
    } else if (line.starts_with("options: ") && !cases.empty()) {
      cases.back().options = line.substr(9);
    } else if (line.starts_with("tolerance: ") && !cases.empty()) {
      cases.back().tolerance = line.substr(11);
    } else if (line == "before:" && !cases.empty()) {
      section = &cases.back().before;
    } else if (line == "after: same" && !cases.empty()) {
      cases.back().after = cases.back().before;
      section = nullptr;
    } else if (line == "after:" && !cases.empty()) {
      section = &cases.back().after;
    } else if (section) {
      *section += line + '\n';
    } else if (!line.empty() && line[0] != '#') {
      cases.push_back({stem, "stray line: " + line, "", "", Pass{"", nullptr}, "", ""});
    }
  }
  return cases;
}

std::vector<PassCase> all_cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(INGOT_SOURCE_DIR "/tests/cases/passes"))
    if (entry.path().extension() == ".graph") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<PassCase> cases;
  for (const auto& path : paths)
    for (PassCase& found : read_file(path)) cases.push_back(std::move(found));
  return cases;
}

class PassCases : public testing::TestWithParam<PassCase> {};

TEST_P(PassCases, RewritesAsDrawn) {
  const PassCase& c = GetParam();
  ASSERT_TRUE(c.pass.run) << c.file << ": no such pass, or " << c.name;
  auto before = parse_graph(c.before), work = parse_graph(c.before), after = parse_graph(c.after, true);
  ASSERT_TRUE(before.ok()) << "before: " << before.status().message();
  ASSERT_TRUE(after.ok()) << "after: " << after.status().message();
  ASSERT_EQ(verify_graph(before->graph).message(), "");

  const auto built = c.build_options();
  ASSERT_TRUE(built.ok()) << built.status().message();
  const BuildOptions& options = *built;
  const auto tolerance = pass_tolerance(c.tolerance);
  ASSERT_TRUE(tolerance) << "no such tolerance: " << c.tolerance;
  const Status status = c.pass.run(work->graph, options);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(verify_graph(work->graph).message(), "") << to_text(work->graph);
  EXPECT_EQ(graph_difference(work->graph, *after), "") << to_text(work->graph);
  EXPECT_TRUE(c.pass.run(work->graph, options).ok());
  EXPECT_EQ(graph_difference(work->graph, *after), "") << "a second run changes it again:\n" << to_text(work->graph);

  for (size_t probe = 0; probe < before->graph.probe_count(); ++probe) {
    const auto want = interpret(before->graph, probe, 1 + probe), got = interpret(work->graph, probe, 1 + probe);
    ASSERT_TRUE(want.ok()) << want.status().message();
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_LE(largest_error(*got, *want, tolerance->of_largest), tolerance->error) << "at probe " << probe << '\n' << to_text(work->graph);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PassCases, testing::ValuesIn(all_cases()), [](const auto& info) {
  std::string name = info.param.file + "__" + info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Passes, EachHasAtLeastThreeCasesAndANegativeOne) {
  for (const Pass& pass : tested_passes()) {
    int positive = 0, negative = 0;
    for (const PassCase& c : all_cases())
      if (c.pass.name == pass.name) ++(c.before == c.after ? negative : positive);
    EXPECT_GE(positive + negative, 3) << pass.name;
    EXPECT_GE(positive, 1) << pass.name;
    EXPECT_GE(negative, 1) << pass.name;
  }
}

// Patterns are parsed before anything is matched.
TEST(Passes, AllPatternsParse) {
  for (const Pass& pass : tested_passes()) {
    Graph empty;
    EXPECT_EQ(pass.run(empty, {}).message(), "") << pass.name;
  }
}

}  // namespace
}  // namespace ingot
