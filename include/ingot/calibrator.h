// Calibration: which range each activation takes on real data. calibrate() streams samples through the FP32 network in
// constant memory and returns a table; the builder reads tables only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/status.h"
#include "ingot/types.h"

namespace ingot {

struct NamedTensor {
  std::string name;             // the graph input; empty: the only input
  DataType dtype = DataType::kF32;
  Shape shape;
  std::vector<std::byte> data;  // row-major
};

// Samples for calibration and checks. next() fills the inputs of one run (any batch size) and is called from one thread.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  // true: `inputs` holds the next sample; false: no more. An error names the file at fault.
  virtual Expected<bool> next(std::vector<NamedTensor>& inputs) = 0;
  virtual Status rewind() = 0;
  virtual int64_t size() const { return -1; }  // samples in all, −1 if unknown
};

enum class CalibrationMethod : uint8_t { kMinMax, kPercentile, kEntropy, kMeanSquaredError };
std::string_view to_string(CalibrationMethod method);  // "minmax", "percentile", "entropy", "mse"

struct CalibrationRange {
  float low = 0, high = 0;                 // the clipped range that quantisation uses; low ≤ 0 ≤ high
  float observed_min = 0, observed_max = 0;
  // For bias correction: the mean of each channel inside the clipped range, and after quantisation. Channels are dim 1 of
  // what convolutions read and the last dim of what matrix products read. Empty: no correction.
  std::vector<float> clipped_mean = {}, quantized_mean = {};
  // Observed ends of each channel (dim 1), for tensors that may be quantised per channel: those that only depthwise
  // convolutions read. Empty: one scale.
  std::vector<float> channel_low = {}, channel_high = {};
};

// Text file, one tensor a line, keyed by tensor name; names the model by its hash. Editable by hand.
struct CalibrationTable {
  std::string model_hash;
  std::string method;   // "percentile 99.999"
  int64_t samples = 0;
  std::map<std::string, CalibrationRange, std::less<>> ranges;

  std::string to_text() const;
  // Names the line at fault.
  static Expected<CalibrationTable> parse(std::string_view text);
};

}  // namespace ingot
