// The shipped digits model and its data, as the e2e tests use them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "data/labels.h"
#include "data/sample_files.h"
#include "ingot/builder.h"

namespace ingot::digits {

inline std::string folder() {
  const char* moved = std::getenv("INGOT_SOURCE_DIR");  // where a program built elsewhere finds the tree
  return std::string(moved ? moved : INGOT_SOURCE_DIR) + "/models/digits";
}
inline std::string model() { return folder() + "/digits.onnx"; }

inline std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline SampleFiles open(const std::string& path, int64_t batch = 0) {
  SampleOptions options;
  options.path = path;
  options.batch = batch;
  auto recipe = PreprocessRecipe::parse_file_text(read_text(folder() + "/preprocess.txt"), "preprocess.txt");
  EXPECT_TRUE(recipe.ok()) << recipe.status().message();
  options.recipe = *recipe;
  auto files = open_samples(options);
  EXPECT_TRUE(files.ok()) << files.status().message();
  return *std::move(files);
}

// The first `count` test images as rows.
inline std::vector<std::vector<float>> images(size_t count) {
  SampleFiles files = open(folder() + "/test");
  std::vector<std::vector<float>> rows;
  std::vector<NamedTensor> sample;
  while (rows.size() < count) {
    auto more = files.source->next(sample);
    EXPECT_TRUE(more.ok());
    if (!more.ok() || !*more) break;
    rows.emplace_back(sample[0].data.size() / sizeof(float));
    std::memcpy(rows.back().data(), sample[0].data.data(), sample[0].data.size());
  }
  return rows;
}

// Calibrated once for all tests of a program.
inline const CalibrationTable& table() {
  static const CalibrationTable made = [] {
    SampleFiles files = open(folder() + "/calib");
    BuildOptions options;
    options.calibration = files.source.get();
    auto table = calibrate(model(), options);
    EXPECT_TRUE(table.ok()) << table.status().message();
    return *std::move(table);
  }();
  return made;
}

inline BuildOptions int8_options() {
  BuildOptions options;
  options.int8 = true;
  options.calibration_table = table();
  options.profiles = {{"image", Shape{1, 1, 20, 20}, Shape{1, 1, 20, 20}, Shape{16, 1, 20, 20}}};
  options.tune = false;
  options.verify = false;
  return options;
}

// Logits of all rows, `batch` rows to a run.
inline std::vector<float> run(const Engine& engine, const std::vector<std::vector<float>>& rows, size_t batch) {
  auto context = engine.create_context();
  EXPECT_TRUE(context.ok());
  (void)context->output_buffer("logits");
  std::vector<float> logits;
  for (size_t at = 0; at < rows.size(); at += batch) {
    const size_t count = std::min(batch, rows.size() - at);
    EXPECT_TRUE(context->set_shape("image", Shape{static_cast<int64_t>(count), 1, 20, 20}).ok());
    auto* x = static_cast<float*>(context->input_buffer("image").data);
    for (size_t r = 0; r < count; ++r) std::copy(rows[at + r].begin(), rows[at + r].end(), x + r * rows[at + r].size());
    const Status status = context->run();
    EXPECT_TRUE(status.ok()) << status.message();
    const auto* y = static_cast<const float*>(context->output_buffer("logits").data);
    logits.insert(logits.end(), y, y + count * 10);
  }
  return logits;
}

inline bool same_bytes(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

inline double accuracy(const std::vector<float>& logits) {
  SampleFiles files = open(folder() + "/test");
  auto labels = parse_labels(read_text(folder() + "/test/labels.txt"), files.names, "labels.txt");
  EXPECT_TRUE(labels.ok()) << labels.status().message();
  int hits = 0;
  const size_t count = logits.size() / 10;
  for (size_t i = 0; i < count; ++i) {
    const float* row = logits.data() + i * 10;
    hits += std::to_string(std::max_element(row, row + 10) - row) == (*labels)[i];
  }
  return 100.0 * hits / static_cast<double>(count);
}

}  // namespace ingot::digits
