// Runs of a problem: random inputs, the reference's answer, and the answer of a tactic in row-major order.
#pragma once

#include <string_view>
#include <vector>

#include "problem_text.h"
#include "runtime/thread_pool.h"

namespace ingot {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1Dull;
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
  float unit() { return static_cast<float>(next() >> 40) * 0x1p-24f; }  // [0, 1)

 private:
  uint64_t state_;
};
uint64_t text_seed(std::string_view text);

// Values of any type; floats in ±4 with a few far ones.
std::vector<std::byte> random_values(const TensorType& type, const Shape& shape, Random& random);
// f32 values into ±0.5; other types stay.
void bring_near(DataType dtype, std::vector<std::byte>& values);

std::vector<Shape> max_shapes(const TestProblem& problem);    // of the inputs
std::vector<Shape> small_shapes(const TestProblem& problem);  // dims that vary at about half of the maximum
Expected<std::vector<OpOutput>> output_types(const TestProblem& problem, std::span<const Shape> input_shapes);

// Inputs and the reference's outputs, all row-major.
struct ReferenceRun {
  std::vector<Shape> input_shapes, output_shapes;
  std::vector<Shape> produced_shapes;  // output_shapes, but for ops that count their output: what they made
  std::vector<std::vector<std::byte>> inputs, outputs;
};
// Of the first `rounded` inputs the reference sees f32 values as halves would have them.
Expected<ReferenceRun> run_reference(const TestProblem& problem, std::vector<Shape> input_shapes, size_t rounded = 0);

// A tactic loaded for a problem, with memory at the problem's maximum and operands in the layouts it asks for.
class LoadedTactic {
 public:
  static Expected<LoadedTactic> load(const TestProblem& problem, const Tactic& tactic, const DeviceInfo& device);
  // Sets shapes and inputs; run() may then be called any number of times.
  void set(const ReferenceRun& run);
  Status run(ThreadPool& pool);
  // Row-major. Also checks that nothing was written behind an output.
  Expected<std::vector<std::vector<std::byte>>> outputs() const;
  std::span<const std::byte> blob() const { return {blob_.data(), blob_.size()}; }

 private:
  struct Memory {
    std::vector<std::byte> storage;
    std::byte* data = nullptr;
    size_t bytes = 0;
    void make_aligned(size_t size, size_t offset);  // `offset` behind a multiple of 64; a guard follows
    void make_tight(size_t size);                   // ends where the allocation ends, so that a sanitizer sees reads beyond
  };
  const TestProblem* problem_ = nullptr;
  DeviceInfo device_;
  Memory blob_memory_, workspace_;
  Blob blob_;
  uint32_t packed_ = 0;
  std::unique_ptr<Kernel> kernel_;
  std::vector<Memory> inputs_, outputs_;
  std::vector<Shape> input_shapes_, output_shapes_, produced_shapes_;
};

// Channels last ↔ row-major.
void change_layout(const std::byte* from, std::byte* to, const Shape& shape, size_t element, Layout from_layout);

}  // namespace ingot
