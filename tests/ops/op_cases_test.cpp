// Type rules and reference code against the answers of other runtimes, stored in tests/cases/ops/*.txt (op_case.h has the
// format, tests/cases/make_ops_cases.py the origin).
#include "op_case.h"

namespace ingot {
namespace {

struct CaseFile {
  const char* name;
  size_t least;  // cases that the file must hold, so that a truncated one shows
};
void PrintTo(const CaseFile& file, std::ostream* out) { *out << file.name; }

class OpCases : public testing::TestWithParam<CaseFile> {};

TEST_P(OpCases, EqualTheStoredAnswers) {
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cases/ops/" + GetParam().name);
  ASSERT_TRUE(file.is_open());
  const std::vector<OpCase> cases = parse_op_cases(file);
  EXPECT_GE(cases.size(), GetParam().least);
  for (const OpCase& c : cases) run_op_case(c);
}

INSTANTIATE_TEST_SUITE_P(Files, OpCases,
                         testing::Values(CaseFile{"resize.txt", 63}, CaseFile{"slice.txt", 29}, CaseFile{"pad.txt", 28},
                                         CaseFile{"reduce.txt", 62}, CaseFile{"data_movement.txt", 79},
                                         CaseFile{"indexed.txt", 80}, CaseFile{"sampling.txt", 40}, CaseFile{"counted.txt", 45},
                                         CaseFile{"rare.txt", 38}),
                         [](const auto& info) {
                           const std::string name = info.param.name;
                           return name.substr(0, name.find('.'));
                         });

}  // namespace
}  // namespace ingot
