// tests/cases/onnx_versions.txt names every operator of ONNX with every version since opset 6: each is imported, and at that version
// held against another runtime (tests/cases/nodes/versions.txt), or there is a reason why not.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "builder/onnx/importer_table.h"

namespace ingot {
namespace {

std::ifstream open_case_file(const std::string& name) { return std::ifstream(std::string(INGOT_SOURCE_DIR) + "/tests/cases/" + name); }

// Cases by operator and version; a case is named <operator>_<version>_….
std::map<std::pair<std::string, int>, int> count_cases() {
  std::map<std::pair<std::string, int>, int> counts;
  auto file = open_case_file("nodes/versions.txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("case ")) continue;
    const size_t end = line.find('_');
    ++counts[{line.substr(5, end - 5), std::atoi(line.c_str() + end + 1)}];
  }
  return counts;
}

TEST(OnnxVersions, EachIsImportedOrRefusedWithAReason) {
  auto file = open_case_file("onnx_versions.txt");
  ASSERT_TRUE(file.is_open());
  auto counts = count_cases();
  int pairs = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    SCOPED_TRACE(line);
    std::istringstream words(line);
    std::string op, kind, rest;
    int version = 0;
    ASSERT_TRUE(words >> op >> version >> kind);
    std::getline(words >> std::ws, rest);
    ++pairs;
    const bool has_importer = find_importer("", op) != nullptr;
    if (kind == "cases") {
      EXPECT_TRUE(has_importer);
      EXPECT_GE(std::stoi(rest), 1) << "a version that no case reaches";
      EXPECT_EQ((counts[{op, version}]), std::stoi(rest));
      EXPECT_EQ(reason_too_old("", op, std::max(version, 6)), "");
    } else if (kind == "refused:") {
      EXPECT_FALSE(has_importer);
      EXPECT_NE(reason_refused("", op), "this operator is not supported");
    } else {  // sub-graphs and sequences: other tests import them
      EXPECT_FALSE(rest.empty());
    }
  }
  EXPECT_GE(pairs, 591);
}

}  // namespace
}  // namespace ingot
