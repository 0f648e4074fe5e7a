// CUTLASS' own sm_80 kernels through the interpreter: right results, and no finding in code that is known to be right.
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

class Cutlass : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file(INGOT_PTX_DIR "/nvcc/cutlass.ptx");
    text_.assign(std::istreambuf_iterator<char>(file), {});
    if (text_.empty()) GTEST_SKIP() << "CUTLASS' headers are not there: scripts/setup cuda";
    module_ = parse_module(text_, memory_);
  }
  uint32_t number(const char* name) { return download<uint32_t>(memory_, module_->variables.at(name).address, 1)[0]; }
  template <class T>
  Report product(const std::string& kind, int tile_m, int tile_n, int m, int n, int k, const std::vector<T>& a,
                 const std::vector<T>& b, uint64_t c, float alpha) {
    const int tiles_m = (m + tile_m - 1) / tile_m, tiles_n = (n + tile_n - 1) / tile_n;
    LaunchShape shape;
    shape.grid[0] = static_cast<uint32_t>(tiles_m);
    shape.grid[1] = static_cast<uint32_t>(tiles_n);
    shape.block[0] = number((kind + "_threads").c_str());
    shape.dynamic_shared = number((kind + "_bytes").c_str());
    Options options;
    options.check_unwritten_shared = false;
    return run(*module_, *module_->kernels.at("cutlass_" + kind), shape,
               pack(m, n, k, 0, upload(memory_, a), upload(memory_, b), c, tiles_m, tiles_n, alpha).data(), memory_,
               options);
  }

  std::string text_;
  DeviceMemory memory_;
  std::unique_ptr<Module> module_;
};

TEST_F(Cutlass, MultipliesBytes) {
  const int m = 136, n = 144, k = 208;
  std::mt19937 random(1);
  std::vector<int8_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k));
  for (auto* v : {&a, &b}) {
    for (int8_t& x : *v) x = static_cast<int8_t>(random());
  }
  const uint64_t c = memory_.allocate(static_cast<uint64_t>(m * n));
  const Report report = product("s8", 128, 128, m, n, k, a, b, c, 0.001f);
  ASSERT_TRUE(report.clean()) << report.text();
  EXPECT_GT(report.counters.mma, 0u);
  const std::vector<int8_t> got = download<int8_t>(memory_, c, static_cast<size_t>(m * n));
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      int sum = 0;
      for (int e = 0; e < k; ++e) sum += a[static_cast<size_t>(row * k + e)] * b[static_cast<size_t>(column * k + e)];
      const int need = std::clamp(static_cast<int>(std::nearbyint(0.001f * static_cast<float>(sum))), -128, 127);
      ASSERT_EQ(got[static_cast<size_t>(row * n + column)], need) << row << " " << column;
    }
  }
}

TEST_F(Cutlass, MultipliesHalves) {
  const int m = 136, n = 72, k = 104;
  std::mt19937 random(2);
  std::vector<uint16_t> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k));
  for (auto* v : {&a, &b}) {
    for (uint16_t& x : *v) x = f32_to_f16(static_cast<float>(static_cast<int>(random() % 65) - 32) * 0.125f);
  }
  const uint64_t c = memory_.allocate(static_cast<uint64_t>(m * n * 4));
  const Report report = product("f16", 128, 64, m, n, k, a, b, c, 1.0f);
  ASSERT_TRUE(report.clean()) << report.text();
  const std::vector<float> got = download<float>(memory_, c, static_cast<size_t>(m * n));
  for (int row = 0; row < m; ++row) {
    for (int column = 0; column < n; ++column) {
      float sum = 0;  // exact
      for (int e = 0; e < k; ++e)
        sum += f16_to_f32(a[static_cast<size_t>(row * k + e)]) * f16_to_f32(b[static_cast<size_t>(column * k + e)]);
      ASSERT_EQ(got[static_cast<size_t>(row * n + column)], sum) << row << " " << column;
    }
  }
}

}  // namespace
}  // namespace ingot::ptx
