// The registry knows every op's reference tactic, and names are unique.
#include "runtime/tactic_registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "runtime/engine.h"

namespace ingot {
namespace {

TEST(TacticRegistry, ReferenceTacticOfEachOpComesLast) {
  const TacticRegistry& registry = TacticRegistry::builtin();
  for (size_t i = 0; i < static_cast<size_t>(OpKind::kCount); ++i) {
    const auto op = static_cast<OpKind>(i);
    ASSERT_FALSE(registry.for_op(op).empty()) << to_string(op);
    const TacticInfo& info = registry.for_op(op).back()->info();
    EXPECT_TRUE(info.name.ends_with(".reference")) << info.name;
    EXPECT_EQ(info.op, op);
  }
  EXPECT_NE(registry.find("cpu.conv.reference"), nullptr);
  EXPECT_EQ(registry.find("cpu.conv.reference"), registry.for_op(OpKind::kConv).back());
  EXPECT_EQ(registry.find("cpu.matmul.reference"), registry.for_op(OpKind::kMatMul).back());
  EXPECT_EQ(registry.find("cpu.conv.magic"), nullptr);
  EXPECT_TRUE(registry.for_op(OpKind::kCount).empty());
}

TEST(TacticRegistry, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Tactic* tactic : TacticRegistry::builtin().all()) {
    EXPECT_TRUE(names.insert(tactic->info().name).second) << tactic->info().name;
    EXPECT_TRUE(tactic->info().name.starts_with("cpu.")) << tactic->info().name;
    EXPECT_GE(tactic->info().version, 1u);
    EXPECT_EQ(TacticRegistry::builtin().find(tactic->info().name), tactic);
  }
}

TEST(CpuFeatures, NarrowingNeverAddsAnything) {
  const CpuFeatures all = detect_cpu_features();
  for (CpuLevel level : {CpuLevel::kScalar, CpuLevel::kAvx2, CpuLevel::kAvxVnni, CpuLevel::kAvx512Vnni}) {
    EXPECT_EQ(parse_cpu_level(to_string(level)), level);
    const CpuFeatures some = narrowed(all, level);
    EXPECT_LE(some.level, std::min(all.level, level));
    EXPECT_TRUE(all.avx512 || !some.avx512);
    EXPECT_TRUE(level == CpuLevel::kAvx512Vnni || !some.avx512);
  }
  EXPECT_EQ(narrowed(all, CpuLevel::kScalar).level, CpuLevel::kScalar);
  EXPECT_FALSE(parse_cpu_level("sse2"));
}

TEST(CpuFeatures, EnvironmentNarrows) {
  const char* before = std::getenv("INGOT_CPU");
  const std::string kept = before ? before : "";
  ::setenv("INGOT_CPU", "scalar", 1);
  EXPECT_EQ(detect_cpu_features().level, CpuLevel::kScalar);
  if (before) ::setenv("INGOT_CPU", kept.c_str(), 1);
  else ::unsetenv("INGOT_CPU");
  EXPECT_FALSE(cpu_model_name().empty());
}

TEST(CpuFeatures, DeviceFollowsOptions) {
  RuntimeOptions options;
  options.cpu_level = "scalar";
  options.threads = 3;
  const DeviceInfo device = cpu_device(options);
  EXPECT_EQ(device.cpu.level, CpuLevel::kScalar);
  EXPECT_EQ(device.threads, 3);
  EXPECT_NE(device.fingerprint.find("scalar; 3 threads"), std::string::npos) << device.fingerprint;
}

}  // namespace
}  // namespace ingot
