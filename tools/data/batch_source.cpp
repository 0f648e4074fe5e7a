// Rows are copied from what was read into what is asked for; a sample may feed several batches and the reverse.
#include "data/batch_source.h"

#include <algorithm>
#include <string>

namespace ingot {
namespace {

int64_t rows_of(const std::vector<NamedTensor>& sample) {
  return sample.empty() || sample[0].shape.rank == 0 ? 0 : sample[0].shape[0];
}

size_t row_bytes(const NamedTensor& tensor) { return tensor.data.size() / static_cast<size_t>(tensor.shape[0]); }

bool same_rows(const NamedTensor& a, const NamedTensor& b) {
  if (a.name != b.name || a.dtype != b.dtype || a.shape.rank != b.shape.rank) return false;
  for (int d = 1; d < a.shape.rank; ++d)
    if (a.shape[d] != b.shape[d]) return false;
  return true;
}

}  // namespace

BatchSource::BatchSource(std::unique_ptr<SampleSource> inner, int64_t rows, int64_t size)
    : inner_(std::move(inner)), rows_(rows), size_(size) {}

Expected<bool> BatchSource::refill() {
  used_ = 0;
  stored_.clear();
  INGOT_ASSIGN(const bool more, inner_->next(stored_));
  if (!more) {
    stored_.clear();
    return false;
  }
  const int64_t rows = rows_of(stored_);
  for (const NamedTensor& tensor : stored_)
    if (tensor.shape.rank == 0 || tensor.shape[0] != rows || rows == 0)
      return Status(StatusCode::kInvalidArgument, "batching: input '" + tensor.name +
                                                      "' has no common first dim: got " + to_string(tensor.shape) +
                                                      ", need " + std::to_string(std::max<int64_t>(rows, 1)) + " rows");
  return rows > 0;
}

Expected<bool> BatchSource::next(std::vector<NamedTensor>& inputs) {
  inputs.clear();
  int64_t filled = 0;
  while (filled < rows_) {
    if (used_ == rows_of(stored_)) {
      INGOT_ASSIGN(const bool more, refill());
      if (!more) break;
    }
    const int64_t take = std::min(rows_ - filled, rows_of(stored_) - used_);
    if (filled == 0) {
      for (const NamedTensor& tensor : stored_) {
        inputs.push_back({tensor.name, tensor.dtype, tensor.shape, {}});
        inputs.back().shape[0] = 0;
      }
    }
    if (inputs.size() != stored_.size())
      return Status(StatusCode::kInvalidArgument, "batching: samples differ in their inputs: got " +
                                                      std::to_string(stored_.size()) + ", need " +
                                                      std::to_string(inputs.size()));
    for (size_t i = 0; i < stored_.size(); ++i) {
      const NamedTensor& from = stored_[i];
      NamedTensor& to = inputs[i];
      if (!same_rows(from, to)) {
        Shape need = to.shape;
        need[0] = from.shape[0];
        return Status(StatusCode::kInvalidArgument, "batching: samples of input '" + from.name + "' differ: got " +
                                                        to_string(from.shape) + ", need " + to_string(need) +
                                                        "; resize them alike, or use batch 1");
      }
      const size_t row = row_bytes(from);
      const std::byte* begin = from.data.data() + static_cast<size_t>(used_) * row;
      to.data.insert(to.data.end(), begin, begin + static_cast<size_t>(take) * row);
      to.shape[0] += take;
    }
    used_ += take;
    filled += take;
  }
  return filled > 0;
}

Status BatchSource::rewind() {
  stored_.clear();
  used_ = 0;
  return inner_->rewind();
}

}  // namespace ingot
