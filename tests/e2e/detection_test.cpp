// The end of a detector against the answers of onnxruntime (tests/cases/make_detection_cases.py): boxes found by
// NonMaxSuppression, none to many, decide the shapes of all that follows.
#include <gtest/gtest.h>

#include "ingot/builder.h"
#include "ops/op_case.h"
#include "tolerance.h"

namespace ingot {
namespace {

const std::string kModel = INGOT_SOURCE_DIR "/tests/cases/detection.onnx";

struct Detection {
  std::string name;
  std::vector<CaseTensor> inputs, outputs;
};

std::vector<Detection> stored_detections() {
  std::ifstream file(INGOT_SOURCE_DIR "/tests/cases/detection.txt");
  std::vector<Detection> cases;
  for (std::string row; std::getline(file, row);) {
    std::istringstream line(row);
    std::string word;
    if (!(line >> word) || word[0] == '#') continue;
    if (word == "case") {
      cases.emplace_back();
      line >> cases.back().name;
    } else {
      (word == "in" ? cases.back().inputs : cases.back().outputs).push_back(parse_case_tensor(line));
    }
  }
  return cases;
}

BuildOptions options_of(int variant) {
  BuildOptions options;
  options.profiles = {{"deltas", {1, 24, 4}, {1, 24, 4}, {3, 24, 4}}, {"logits", {1, 24, 3}, {1, 24, 3}, {3, 24, 3}}};
  options.tune = variant == 3;
  options.optimize = variant > 0;
  options.reference_only = variant == 1;
  options.threads = variant == 3 ? 2 : 1;
  return options;
}

class DetectionTest : public testing::TestWithParam<int> {};

TEST_P(DetectionTest, FindsWhatOthersFind) {
  const Expected<Engine> engine = build_and_load(kModel, options_of(GetParam()));
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  const char* const names[] = {"detections", "best_labels", "chosen", "total", "copied"};
  EXPECT_EQ(to_string(engine->outputs()[0].shape), "?x5");
  EXPECT_EQ(to_string(engine->outputs()[0].max), "8x5");
  EXPECT_EQ(to_string(engine->outputs()[2].max), "45x3");  // 3 batches · 3 classes · 5
  Expected<ExecutionContext> context = engine->create_context();
  ASSERT_TRUE(context.ok());
  const std::vector<Detection> cases = stored_detections();
  ASSERT_GE(cases.size(), 9u);
  // Twice through all of them, so that every count follows several others in one context.
  for (int round = 0; round < 2; ++round)
    for (const Detection& c : cases) {
      SCOPED_TRACE(c.name);
      for (size_t i = 0; i < 2; ++i) {
        const char* input = i == 0 ? "deltas" : "logits";
        ASSERT_TRUE(context->set_shape(input, c.inputs[i].type.shape).ok());
        std::memcpy(context->input_buffer(input).data, c.inputs[i].bytes.data(), c.inputs[i].bytes.size());
      }
      for (const char* name : names) context->output_buffer(name);
      const Status run = context->run();
      ASSERT_TRUE(run.ok()) << run.message();
      for (size_t i = 0; i < std::size(names); ++i) {
        SCOPED_TRACE(names[i]);
        ASSERT_EQ(to_string(*context->shape(names[i])), to_string(c.outputs[i].type.shape));
        CaseTensor got{c.outputs[i].type, {}};
        const auto* data = static_cast<const std::byte*>(context->output_buffer(names[i]).data);
        got.bytes.assign(data, data + c.outputs[i].bytes.size());
        expect_equal_tensors(got, c.outputs[i], kDetectionTolerance);
      }
    }
}

std::string build_name(const testing::TestParamInfo<int>& info) {
  const char* const names[] = {"unoptimised", "reference", "optimised", "tuned"};
  return names[info.param];
}
INSTANTIATE_TEST_SUITE_P(Builds, DetectionTest, testing::Values(0, 1, 2, 3),
                         build_name);

TEST(Detection, ALimitThatIsTooTightIsAnErrorOfTheRun) {
  BuildOptions options = options_of(2);
  options.limits = {{"chosen", Shape{20, 3}}};
  const Expected<Engine> engine = build_and_load(kModel, options);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  EXPECT_EQ(to_string(engine->outputs()[2].max), "20x3");
  Expected<ExecutionContext> context = engine->create_context();
  ASSERT_TRUE(context.ok());
  for (const TensorInfo& output : engine->outputs()) context->output_buffer(output.name);
  int refused = 0;
  for (const Detection& c : stored_detections()) {
    SCOPED_TRACE(c.name);
    for (size_t i = 0; i < 2; ++i) {
      const char* input = i == 0 ? "deltas" : "logits";
      ASSERT_TRUE(context->set_shape(input, c.inputs[i].type.shape).ok());
      std::memcpy(context->input_buffer(input).data, c.inputs[i].bytes.data(), c.inputs[i].bytes.size());
    }
    const Status run = context->run();
    const int64_t found = c.outputs[2].type.shape[0];
    EXPECT_EQ(run.ok(), found <= 20) << run.message();
    if (run.ok()) continue;
    ++refused;
    EXPECT_NE(run.message().find("output 'chosen': shape that depends on data: got " + std::to_string(found) + "x3, need at most 20x3"), std::string_view::npos) << run.message();
  }
  EXPECT_GT(refused, 1);
}

}  // namespace
}  // namespace ingot
