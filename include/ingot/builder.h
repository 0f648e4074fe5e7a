// The builder: ONNX model in, engine file out.
//
//   ingot::BuildOptions options;
//   options.int8 = true;
//   options.calibration = &samples;                    // or options.calibration_table
//   auto result = ingot::build("net.onnx", options);
//   if (!result.ok()) ...                              // lists every unsupported node at once
//   ingot::write_file_atomically("net.engine", result->engine);
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/calibrator.h"
#include "ingot/runtime.h"
#include "ingot/status.h"
#include "ingot/types.h"

namespace ingot {

// Dims of one dynamic input: min ≤ opt ≤ max. Tuned at opt, sized at max.
struct ShapeProfile {
  std::string input;
  Shape min, opt, max;
};
// "x=1x3x48x32:1x3x48x320:8x3x48x960"; a single shape stands for all three.
Expected<ShapeProfile> parse_profile(std::string_view text);
struct BuildOptions;
// Adds to the options' latest profile; where that has one of the same input already, opens a further profile.
void add_profile(BuildOptions& options, ShapeProfile profile);

// The most that a tensor's dims may be where they depend on data, as the boxes that a detector finds: sizes memory. A run that
// needs more fails with an error that names the tensor. Only needed where no bound can be proven; a lower one saves memory.
struct TensorLimit {
  std::string tensor;
  Shape shape;  // kDynamic in a dim: no limit
};
// "boxes=1000x4"; ? for a dim without a limit.
Expected<TensorLimit> parse_limit(std::string_view text);

struct Progress {
  std::string_view stage;    // "tuning"
  int64_t done = 0, total = 0;
  double seconds_left = -1;  // −1: unknown
};

struct BuildOptions {
  bool int8 = false;
  bool fp16 = false;  // permits half precision: storage on a CPU, arithmetic on a GPU
  bool bf16 = false;  // permits bfloat16, on a GPU alone: f32's range, 8 bits of precision
  std::vector<ShapeProfile> profiles;   // one for each dynamic input
  // Further profiles of the same engine, each with one for every dynamic input; 16 in all, for the CPU only. Each is tuned and
  // planned for itself. They share weights, wherever a layer got the same kernel, and a context's arena; in a run the first
  // that holds the inputs' shapes serves.
  std::vector<std::vector<ShapeProfile>> more_profiles;
  std::vector<TensorLimit> limits;

  SampleSource* calibration = nullptr;  // needed for int8 unless the model brings Q/DQ or a table is given
  std::optional<CalibrationTable> calibration_table;
  CalibrationMethod method = CalibrationMethod::kPercentile;
  double percentile = 99.999;
  int64_t max_calibration_samples = 0;  // 0: all
  std::vector<std::string> float_layers;  // names of layers or tensors kept in float

  int threads = 1;
  std::string cpu_level;                // as RuntimeOptions
  std::vector<std::string> targets;     // more plans for the file, as "cuda-sm_80"; a plan for the CPU is always there
  std::string timing_cache;             // path, read and extended; empty: none
  double time_budget_s = 0;             // for tuning; 0: as long as it takes
  bool tune = true;                     // false: estimated costs, deterministic
  bool reference_only = false;          // every layer by reference code, no fusion: the oracle
  bool optimize = true;                 // false: no optional passes
  bool verify = true;                   // replay against the reference before handing the engine out

  // Optional libraries whose tactics may be chosen, as "onednn" (ingot/onednn.h). An engine that uses one says so, needs it at
  // load, and its runs allocate.
  std::vector<std::string> tactic_libraries;

  std::vector<std::string> disabled_passes;
  std::string dump_graphs_dir;

  std::function<void(const Progress&)> progress;
  const std::atomic<bool>* stop = nullptr;  // set to interrupt the build
};

struct BuildResult {
  std::vector<std::byte> engine;  // the file's bytes
  std::string report_json;
  std::optional<CalibrationTable> calibration_table;  // made in this build
  std::vector<std::string> warnings;
};

// Builds from an .onnx file; external data is read from its folder only.
Expected<BuildResult> build(const std::string& model_path, const BuildOptions& options);
// Builds in memory and loads at once: the plan of the last target if there are some, else the CPU's.
Expected<Engine> build_and_load(const std::string& model_path, const BuildOptions& options);
// The same, as an object that keeps its options.
class Builder;

// Runs the FP32 network over the samples and returns the ranges of its activations.
Expected<CalibrationTable> calibrate(const std::string& model_path, const BuildOptions& options);

// Says without building how the model would run: every layer with its precision, kernel and reasons, as JSON (docs/report.md).
// Kernels are chosen by estimated costs. With int8 but neither a table nor Q/DQ, ranges are assumed: which layers are int8 is
// then known but for what only data shows. Errors as build(): all that is not supported, at once.
Expected<std::string> check_model(const std::string& model_path, const BuildOptions& options);

class Builder {
 public:
  explicit Builder(BuildOptions options = {}) : options_(std::move(options)) {}
  BuildOptions& options() { return options_; }
  Expected<BuildResult> build(const std::string& model_path) const { return ingot::build(model_path, options_); }
  Expected<Engine> build_and_load(const std::string& model_path) const { return ingot::build_and_load(model_path, options_); }
  Expected<CalibrationTable> calibrate(const std::string& model_path) const { return ingot::calibrate(model_path, options_); }

 private:
  BuildOptions options_;
};

// Copies one run's inputs into a context's own buffers and sets their shapes. A tensor whose name is empty, or that no input
// has while there are as many tensors as inputs, takes the input of its place. Errors name the input.
Status feed_sample(ExecutionContext& context, const Engine& engine, std::span<const NamedTensor> sample);

// What the model is fed, in its order.
Expected<std::vector<std::string>> model_input_names(const std::string& model_path);

// Writes beside the target, which may stand behind links, and renames; on error nothing is left behind. Devices are written to.
Status write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace ingot
