// Cuts and joins samples along their first dim, so that every one has `rows` rows (the last may have fewer).
#pragma once

#include <memory>

#include "ingot/calibrator.h"

namespace ingot {

class BatchSource : public SampleSource {
 public:
  // rows ≥ 1. `size` is what size() answers.
  BatchSource(std::unique_ptr<SampleSource> inner, int64_t rows, int64_t size = -1);
  // Fails where inputs of one sample disagree on their rows, or samples on the rest of their shape.
  Expected<bool> next(std::vector<NamedTensor>& inputs) override;
  Status rewind() override;
  int64_t size() const override { return size_; }

 private:
  Expected<bool> refill();

  std::unique_ptr<SampleSource> inner_;
  int64_t rows_, size_;
  std::vector<NamedTensor> stored_;  // read, not yet handed out from row `used_` on
  int64_t used_ = 0;
};

}  // namespace ingot
