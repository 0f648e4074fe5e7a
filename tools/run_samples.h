// Random inputs, outputs as named tensors, samples in memory.
#pragma once

#include <span>
#include <vector>

#include "ingot/calibrator.h"
#include "ingot/runtime.h"

namespace ingot::cli {

// Zero or random inputs at the profile's opt shapes.
Status feed_random(ExecutionContext& context, const Engine& engine);
// Gives every output a buffer of the context's own.
void own_outputs(ExecutionContext& context, const Engine& engine);
// The outputs of the last run, in the engine's order.
Expected<std::vector<NamedTensor>> outputs_of(ExecutionContext& context, const Engine& engine);

// A source of samples held in memory.
class MemorySource final : public SampleSource {
 public:
  explicit MemorySource(std::vector<std::vector<NamedTensor>> samples) : samples_(std::move(samples)) {}
  Expected<bool> next(std::vector<NamedTensor>& inputs) override {
    if (next_ == samples_.size()) return false;
    inputs = samples_[next_++];
    return true;
  }
  Status rewind() override {
    next_ = 0;
    return {};
  }
  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }

 private:
  std::vector<std::vector<NamedTensor>> samples_;
  size_t next_ = 0;
};

}  // namespace ingot::cli
