// Recurrent layers against the answers of onnxruntime, stored in tests/cases/ops/recurrent.txt (op_case.h has the format,
// tests/cases/make_recurrent_cases.py the origin), and what is refused.
#include "op_case.h"

namespace ingot {
namespace {

TEST(Recurrent, EqualsTheStoredAnswers) {
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cases/ops/recurrent.txt");
  ASSERT_TRUE(file.is_open());
  const std::vector<OpCase> cases = parse_op_cases(file);
  EXPECT_GE(cases.size(), 25u);
  for (const OpCase& c : cases) run_op_case(c);
}

TEST(Recurrent, Refusals) {
  std::istringstream text(R"(
    case wrong_hidden
    op Recurrent cell=rnn activations=[1] alphas=[0] betas=[0]
    in f32 1x1x2 unknown
    in f32 1x3x2 unknown
    in f32 1x3x4 unknown
    out f32 1 : 0
    out f32 1 : 0
    refused recurrent: shape of w: got 1x3x2, need 1x4x2

    case too_few_activations
    op Recurrent cell=lstm activations=[1] alphas=[0] betas=[0]
    in f32 1x1x2 unknown
    in f32 1x4x2 unknown
    in f32 1x4x1 unknown
    out f32 1 : 0
    out f32 1 : 0
    out f32 1 : 0
    refused recurrent: number of activations: got 1, need 3

    case unknown_activation
    op Recurrent cell=rnn activations=[99] alphas=[0] betas=[0]
    in f32 1x1x2 unknown
    in f32 1x1x2 unknown
    in f32 1x1x1 unknown
    out f32 1 : 0
    out f32 1 : 0
    refused recurrent: activation: got 99

    case integers
    op Recurrent cell=rnn activations=[1] alphas=[0] betas=[0]
    in s32 1x1x2 unknown
    in s32 1x1x2 unknown
    in s32 1x1x1 unknown
    out f32 1 : 0
    out f32 1 : 0
    refused recurrent: element type: got s32
  )");
  const std::vector<OpCase> cases = parse_op_cases(text);
  EXPECT_EQ(cases.size(), 4u);
  for (const OpCase& c : cases) run_op_case(c);
}

// A length that reaches beyond the data, or a negative one, is the caller's error.
TEST(Recurrent, LengthsOutOfRange) {
  for (int32_t length : {-1, 2}) {
    RecurrentParams params;
    params.activations = {1};
    params.alphas = params.betas = {0};
    const TensorType one{DataType::kF32, {1, 1, 1}, Layout::kLinear, {}}, y{DataType::kF32, {1, 1, 1, 1}, Layout::kLinear, {}};
    const TensorType lengths{DataType::kS32, {1}, Layout::kLinear, {}};
    const float x = 1;
    float result = 0, state = 0;
    const ConstTensorRef inputs[] = {{&one, &x}, {&one, &x}, {&one, &x}, {}, {&lengths, &length}};
    const TensorRef outputs[] = {{&y, &result}, {&one, &state}};
    const Status status = run_reference(params, inputs, outputs);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("sequence length 0 out of range: got " + std::to_string(length) + ", need 0 to 1"), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace ingot
