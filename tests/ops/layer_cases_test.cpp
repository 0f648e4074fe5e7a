// Layers and element-wise ops against the answers of onnxruntime, stored in tests/cases/ops/layers.txt (op_case.h has
// the format, tests/cases/make_layer_cases.py the origin).
#include "op_case.h"

namespace ingot {
namespace {

TEST(LayerCases, EqualTheStoredAnswers) {
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cases/ops/layers.txt");
  ASSERT_TRUE(file.is_open());
  const std::vector<OpCase> cases = parse_op_cases(file);
  EXPECT_GE(cases.size(), 120u);
  for (const OpCase& c : cases) run_op_case(c);
}

}  // namespace
}  // namespace ingot
