// Faults planted in copies of the kernels that GPUs run: each must be found, by the check that is made for it and with
// a line, or, where the kernel breaks no rule but computes something else, by its results. The kernels without a fault
// pass clean, with the right results and within their budgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <random>

#include "ptx/device_arrays.h"
#include "runtime/ops/half.h"

namespace ingot::ptx {
namespace {

// What a run shows: the report, and whether the results are right.
struct Outcome {
  Report report;
  bool right = false;
};

// The PTX of tests/ptx/kernels/<name>.cu as the build compiled it, by each compiler there is.
const std::string& text_of(const std::string& compiler, const std::string& name) {
  static std::map<std::string, std::string> all;
  std::string& text = all[compiler + name];
  if (text.empty()) {
    std::ifstream file(std::string(INGOT_PTX_DIR) + "/" + compiler + "/" + name + ".ptx");
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  return text;
}

struct Loaded {
  DeviceMemory memory;
  std::unique_ptr<Module> module;
  const Kernel* kernel = nullptr;

  Loaded(const std::string& compiler, const std::string& name, int bug) {
    module = parse_module(text_of(compiler, name), memory);
    kernel = module->kernels.at(name + "_" + std::to_string(bug)).get();
  }
  Outcome run(const LaunchShape& shape, const std::vector<std::byte>& parameters, const Budget& budget) {
    Outcome o;
    o.report = ptx::run(*module, *kernel, shape, parameters.data(), memory);
    if (o.report.clean()) hold(budget, *module, *kernel, o.report);
    return o;
  }
};

uint32_t ceil_div(int a, int b) { return static_cast<uint32_t>((a + b - 1) / b); }

Outcome gemm_s8(const std::string& compiler, int bug) {
  const int m = 84, n = 80, k = 240;
  std::mt19937 random(1);
  std::vector<int8_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k));
  std::vector<float> scale(static_cast<size_t>(n)), bias(static_cast<size_t>(n));
  for (auto* v : {&a, &b}) {
    for (int8_t& x : *v) x = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  }
  for (float& x : scale) x = static_cast<float>(random() % 100 + 1) * 1e-5f;
  for (float& x : bias) x = static_cast<float>(random() % 41) - 20;
  Loaded l(compiler, "gemm_s8", bug);
  const uint64_t to = l.memory.allocate(static_cast<uint64_t>(m * n));
  LaunchShape shape;
  shape.grid[0] = ceil_div(n, 64);
  shape.grid[1] = ceil_div(m, 64);
  shape.block[0] = 128;
  shape.dynamic_shared = 3 * 8192;
  Budget budget;
  budget.bank_conflicts = 1000;  // the pieces that the last step stores; 5 to 6 times as many without the swizzle
  budget.local_requests = 0;
  budget.mma = 4 * 4 * 64;  // blocks, steps
  budget.ldmatrix = 4 * 4 * 32;
  const uint64_t in_a = upload(l.memory, a), in_b = upload(l.memory, b), in_scale = upload(l.memory, scale),
                 in_bias = upload(l.memory, bias);
  Outcome o = l.run(shape, pack(in_a, in_b, to, m, n, k, in_scale, in_bias), budget);
  if (!o.report.clean()) return o;
  const std::vector<int8_t> got = download<int8_t>(l.memory, to, static_cast<size_t>(m * n));
  o.right = true;
  for (size_t row = 0; row < static_cast<size_t>(m); ++row) {
    for (size_t column = 0; column < static_cast<size_t>(n); ++column) {
      int sum = 0;
      for (size_t e = 0; e < static_cast<size_t>(k); ++e)
        sum += a[row * static_cast<size_t>(k) + e] * b[column * static_cast<size_t>(k) + e];
      const float y = std::fmax(std::fma(static_cast<float>(sum), scale[column], bias[column]), 0.0f);
      o.right =
          o.right && got[row * static_cast<size_t>(n) + column] == std::min(127, static_cast<int>(std::nearbyint(y)));
    }
  }
  return o;
}

Outcome gemm_f16(const std::string& compiler, int bug) {
  const int m = 72, n = 88, k = 136;
  std::mt19937 random(2);
  std::vector<uint16_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k));
  for (auto* v : {&a, &b}) {
    for (uint16_t& x : *v) x = f32_to_f16(static_cast<float>(static_cast<int>(random() % 33) - 16) * 0.125f);
  }
  Loaded l(compiler, "gemm_f16", bug);
  const uint64_t to = l.memory.allocate(static_cast<uint64_t>(m * n * 2));
  LaunchShape shape;
  shape.grid[0] = ceil_div(n, 64);
  shape.grid[1] = ceil_div(m, 64);
  shape.block[0] = 128;
  shape.dynamic_shared = 3 * 8192;
  Budget budget;
  budget.bank_conflicts = 1000;
  budget.local_requests = 0;
  const uint64_t in_a = upload(l.memory, a), in_b = upload(l.memory, b);
  Outcome o = l.run(shape, pack(in_a, in_b, to, m, n, k), budget);
  if (!o.report.clean()) return o;
  const std::vector<uint16_t> got = download<uint16_t>(l.memory, to, static_cast<size_t>(m * n));
  o.right = true;
  for (size_t row = 0; row < static_cast<size_t>(m); ++row) {
    for (size_t column = 0; column < static_cast<size_t>(n); ++column) {
      float sum = 0;  // exact: multiples of 1/64 below 2^17
      for (size_t e = 0; e < static_cast<size_t>(k); ++e)
        sum += f16_to_f32(a[row * static_cast<size_t>(k) + e]) * f16_to_f32(b[column * static_cast<size_t>(k) + e]);
      o.right = o.right && got[row * static_cast<size_t>(n) + column] == f32_to_f16(sum);
    }
  }
  return o;
}

Outcome softmax(const std::string& compiler, int bug) {
  const int rows = 3, columns = 301;
  std::mt19937 random(3);
  std::vector<float> in(static_cast<size_t>(rows * columns));
  for (float& x : in) x = static_cast<float>(random() % 1000) * 0.01f;
  Loaded l(compiler, "softmax", bug);
  const uint64_t from = upload(l.memory, in), to = l.memory.allocate(in.size() * 4);
  LaunchShape shape;
  shape.grid[0] = static_cast<uint32_t>(rows);
  shape.block[0] = 256;
  Outcome o = l.run(shape, pack(from, to, columns), {});
  if (!o.report.clean()) return o;
  const std::vector<float> got = download<float>(l.memory, to, in.size());
  o.right = true;
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
    const float* x = in.data() + row * static_cast<size_t>(columns);
    const float most = *std::max_element(x, x + columns);
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += std::exp(static_cast<double>(x[c] - most));
    for (int c = 0; c < columns; ++c) {
      const double need = std::exp(static_cast<double>(x[c] - most)) / sum;
      o.right =
          o.right && std::fabs(static_cast<double>(got[row * static_cast<size_t>(columns) + static_cast<size_t>(c)]) -
                               need) <= 4e-6 * need;
    }
  }
  return o;
}

Outcome depthwise(const std::string& compiler, int bug) {
  const int height = 13, width = 11, channels = 8, zero = 117;
  std::mt19937 random(4);
  std::vector<uint8_t> in(static_cast<size_t>(height * width * channels));
  std::vector<int8_t> weights(static_cast<size_t>(9 * channels));
  for (uint8_t& x : in) x = static_cast<uint8_t>(random());
  for (int8_t& x : weights) x = static_cast<int8_t>(static_cast<int>(random() % 255) - 127);
  Loaded l(compiler, "depthwise", bug);
  const uint64_t from = upload(l.memory, in), from_weights = upload(l.memory, weights),
                 to = l.memory.allocate(in.size() * 4);
  LaunchShape shape;
  shape.grid[0] = ceil_div(width, 8);
  shape.grid[1] = ceil_div(height, 8);
  shape.grid[2] = static_cast<uint32_t>(channels / 4);
  shape.block[0] = 64;
  Outcome o = l.run(shape, pack(from, from_weights, to, height, width, channels, zero), {});
  if (!o.report.clean()) return o;
  const std::vector<int32_t> got = download<int32_t>(l.memory, to, in.size());
  o.right = true;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        int sum = 0;
        for (int t = 0; t < 9; ++t) {
          const int v = y + t / 3 - 1, u = x + t % 3 - 1;
          if (v < 0 || v >= height || u < 0 || u >= width) continue;
          sum += (in[static_cast<size_t>((v * width + u) * channels + c)] - zero) *
                 weights[static_cast<size_t>(t * channels + c)];
        }
        o.right = o.right && got[static_cast<size_t>((y * width + x) * channels + c)] == sum;
      }
    }
  }
  return o;
}

struct Planted {
  const char* kernel;
  Outcome (*run)(const std::string& compiler, int bug);
  int bug;
  const char* what;
  const char* kind;  // of the failure that must be found; "result": none, but the results are wrong
};

constexpr Planted kPlanted[] = {
    {"gemm_s8", gemm_s8, 1, "no barrier in the loop", "race"},
    {"gemm_s8", gemm_s8, 2, "waits for one group too few", "in flight"},
    {"gemm_s8", gemm_s8, 3, "one group of the prologue is not closed", "in flight"},
    {"gemm_s8", gemm_s8, 4, "writes with another swizzle than it reads with", "result"},
    {"gemm_s8", gemm_s8, 5, "no swizzle", "budget"},
    {"gemm_s8", gemm_s8, 6, "no zeros past the end of K", "result"},
    {"gemm_s8", gemm_s8, 7, "one row of A too many", "out of bounds"},
    {"gemm_s8", gemm_s8, 8, "no bound on K for B", "out of bounds"},
    {"gemm_s8", gemm_s8, 9, "copies into the stage that is being read", "in flight"},
    {"gemm_s8", gemm_s8, 10, "wrong lanes for the matrices of B", "result"},
    {"gemm_s8", gemm_s8, 11, "no bound on N when it stores", "out of bounds"},
    {"gemm_s8", gemm_s8, 12, "wrong places of the sums in the tile", "result"},
    {"gemm_s8", gemm_s8, 13, "wrong lower bound of the results", "result"},
    {"gemm_s8", gemm_s8, 14, "no barrier before the tile overwrites the stages", "race"},
    {"gemm_s8", gemm_s8, 15, "no barrier between tile and stores", "race"},
    {"gemm_s8", gemm_s8, 16, "stores 16 bytes at a multiple of 4", "misaligned"},
    {"gemm_s8", gemm_s8, 17, "warps without rows skip the barrier", "race"},
    {"gemm_s8", gemm_s8, 18, "reads the tile with another pitch", "misaligned"},
    {"gemm_s8", gemm_s8, 19, "a quarter of the threads copies nothing", "unwritten shared"},
    {"gemm_s8", gemm_s8, 20, "copies from a multiple of 4", "misaligned"},
    {"gemm_s8", gemm_s8, 21, "halves of B exchanged", "result"},
    {"gemm_s8", gemm_s8, 22, "prologue one step short", "unwritten shared"},
    {"gemm_s8", gemm_s8, 23, "scale by row", "out of bounds"},
    {"gemm_s8", gemm_s8, 24, "reads the next stage", "in flight"},
    {"gemm_s8", gemm_s8, 25, "warps without rows leave early", "unwritten shared"},
    {"gemm_s8", gemm_s8, 26, "no wait for copies", "in flight"},
    {"gemm_f16", gemm_f16, 1, "no barrier in the loop", "race"},
    {"gemm_f16", gemm_f16, 2, "waits for one group too few", "in flight"},
    {"gemm_f16", gemm_f16, 4, "writes with another swizzle than it reads with", "result"},
    {"gemm_f16", gemm_f16, 5, "no swizzle", "budget"},
    {"gemm_f16", gemm_f16, 9, "copies into the stage that is being read", "in flight"},
    {"gemm_f16", gemm_f16, 10, "wrong lanes for the matrices of B", "result"},
    {"gemm_f16", gemm_f16, 12, "wrong places of the sums in the tile", "result"},
    {"gemm_f16", gemm_f16, 14, "no barrier before the tile overwrites the stages", "race"},
    {"gemm_f16", gemm_f16, 15, "no barrier between tile and stores", "race"},
    {"gemm_f16", gemm_f16, 16, "stores 16 bytes at a multiple of 8", "misaligned"},
    {"gemm_f16", gemm_f16, 21, "halves of B exchanged", "result"},
    {"softmax", softmax, 1, "no barrier before the parts are read", "race"},
    {"softmax", softmax, 2, "no barrier before the parts are used again", "race"},
    {"softmax", softmax, 3, "half a member mask", "undefined"},
    {"softmax", softmax, 4, "shuffles of all lanes in a branch of some", "deadlock"},
    {"softmax", softmax, 5, "one column too many", "out of bounds"},
    {"softmax", softmax, 6, "sums half a warp", "result"},
    {"softmax", softmax, 7, "reads parts that no warp wrote", "unwritten shared"},
    {"softmax", softmax, 8, "reads four floats at any column", "misaligned"},
    {"softmax", softmax, 9, "lanes leave before the shuffles", "undefined"},
    {"softmax", softmax, 10, "all lanes write one part", "race"},
    {"softmax", softmax, 11, "stores one column further", "out of bounds"},
    {"depthwise", depthwise, 1, "pads with 0 in place of the zero point", "result"},
    {"depthwise", depthwise, 2, "reads a row above the first", "out of bounds"},
    {"depthwise", depthwise, 3, "no barrier between tile and sums", "race"},
    {"depthwise", depthwise, 4, "no bound on places", "out of bounds"},
    {"depthwise", depthwise, 5, "reads words at halves of words", "misaligned"},
    {"depthwise", depthwise, 6, "a tile one row short", "out of bounds"},
    {"depthwise", depthwise, 7, "reads a row below the last", "out of bounds"},
    {"depthwise", depthwise, 8, "takes u8 for s8", "result"},
    {"depthwise", depthwise, 9, "leaves out the border's last column", "unwritten shared"},
    {"depthwise", depthwise, 10, "height for width", "out of bounds"},
    {"depthwise", depthwise, 11, "stores four words one word further", "misaligned"},
    {"depthwise", depthwise, 12, "fills the tile's first 64 words only", "unwritten shared"},
};

class PlantedBugs : public testing::TestWithParam<size_t> {};

TEST_P(PlantedBugs, AreFound) {
  const Planted& p = kPlanted[GetParam()];
  const Outcome o = p.run("nvcc", p.bug);
  if (std::string_view(p.kind) == "result") {
    EXPECT_TRUE(o.report.clean()) << o.report.text();
    EXPECT_FALSE(o.right) << p.what << ": not found";
    return;
  }
  ASSERT_FALSE(o.report.clean()) << p.what << ": not found";
  const auto& all = o.report.failures;
  const auto f = std::find_if(all.begin(), all.end(),
                              [&](const Failure& one) { return std::string_view(name_of(one.kind)) == p.kind; });
  ASSERT_NE(f, all.end()) << p.what << ": " << o.report.text();
  if (f->kind == FailureKind::kBudget) {
    EXPECT_NE(f->message.find("ptx line "), std::string::npos) << f->message;
  } else {
    EXPECT_GT(f->ptx_line, 0);
    EXPECT_NE(f->source.find(".cu"), std::string::npos) << f->message;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBugs, testing::Range(size_t{0}, std::size(kPlanted)), [](const auto& info) {
  return std::string(kPlanted[info.param].kernel) + "_" + std::to_string(kPlanted[info.param].bug);
});

TEST(Kernels, WithoutPlantedBugsPass) {
  for (const char* compiler : {"nvcc", "clang"}) {
    if (text_of(compiler, "softmax").empty()) {
      EXPECT_STRNE(compiler, "nvcc");
      continue;
    }
    for (const auto run : {gemm_s8, gemm_f16, softmax, depthwise}) {
      const Outcome o = run(compiler, 0);
      EXPECT_TRUE(o.report.clean()) << compiler << ": " << o.report.text();
      EXPECT_TRUE(o.right) << compiler;
    }
  }
}

}  // namespace
}  // namespace ingot::ptx
