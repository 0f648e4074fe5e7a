// Reads cpuid and the operating system's promise to save vector registers (xgetbv), once; then narrows as asked.
#include "runtime/cpu/cpu_features.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <optional>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ingot {
namespace {

struct Hardware {
  CpuFeatures features;
  bool avx_vnni = false;  // a machine may have AVX512-VNNI without it
};

#if defined(__x86_64__)
uint64_t enabled_register_state() {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

Hardware read_hardware() {
  Hardware hardware;
  uint32_t a, b, c, d;
  const auto bit = [](uint32_t word, int i) { return (word >> i & 1) != 0; };
  if (!__get_cpuid(1, &a, &b, &c, &d)) return hardware;
  const bool fma = bit(c, 12), osxsave = bit(c, 27), avx = bit(c, 28), f16c = bit(c, 29);
  if (!osxsave || !avx) return hardware;
  const uint64_t saved = enabled_register_state();
  if ((saved & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return hardware;
  const uint32_t subleaves = a, b7 = b, c7 = c;
  if (!fma || !f16c || !bit(b7, 5)) return hardware;
  hardware.features.level = CpuLevel::kAvx2;
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) hardware.avx_vnni = bit(a, 4);
  if (hardware.avx_vnni) hardware.features.level = CpuLevel::kAvxVnni;
  // AVX-512 F, DQ, BW, VL, with its three register states.
  if ((saved & 0xe6) == 0xe6 && bit(b7, 16) && bit(b7, 17) && bit(b7, 30) && bit(b7, 31)) {
    hardware.features.avx512 = true;
    if (bit(c7, 11)) hardware.features.level = CpuLevel::kAvx512Vnni;
  }
  return hardware;
}
#else
Hardware read_hardware() { return {}; }
#endif

const Hardware& hardware() {
  static const Hardware found = read_hardware();
  return found;
}

}  // namespace

std::string_view to_string(CpuLevel level) {
  switch (level) {
    case CpuLevel::kScalar: return "scalar";
    case CpuLevel::kAvx2: return "avx2";
    case CpuLevel::kAvxVnni: return "avx_vnni";
    case CpuLevel::kAvx512Vnni: return "avx512_vnni";
  }
  return "unknown";
}

std::optional<CpuLevel> parse_cpu_level(std::string_view name) {
  for (CpuLevel level : {CpuLevel::kScalar, CpuLevel::kAvx2, CpuLevel::kAvxVnni, CpuLevel::kAvx512Vnni})
    if (to_string(level) == name) return level;
  return std::nullopt;
}

CpuFeatures narrowed(CpuFeatures features, CpuLevel at_most) {
  if (at_most >= CpuLevel::kAvx512Vnni) return features;
  features.avx512 = false;
  features.level = std::min(features.level, at_most);
  if (features.level == CpuLevel::kAvxVnni && !hardware().avx_vnni) features.level = CpuLevel::kAvx2;
  return features;
}

CpuFeatures detect_cpu_features() {
  const char* limit = std::getenv("INGOT_CPU");
  const std::optional<CpuLevel> at_most = limit ? parse_cpu_level(limit) : std::nullopt;
  return at_most ? narrowed(hardware().features, *at_most) : hardware().features;
}

std::string cpu_model_name() {
#if defined(__x86_64__)
  uint32_t a, b, c, d;
  if (__get_cpuid(0x80000000, &a, &b, &c, &d) && a >= 0x80000004) {
    std::array<char, 49> text{};
    for (uint32_t i = 0; i < 3; ++i) {
      __get_cpuid(0x80000002 + i, &a, &b, &c, &d);
      const uint32_t words[4] = {a, b, c, d};
      std::memcpy(text.data() + 16 * i, words, sizeof words);
    }
    std::string name;  // runs of blanks become one
    for (const char* p = text.data(); *p; ++p)
      if (*p != ' ' || (!name.empty() && name.back() != ' ')) name += *p;
    while (!name.empty() && name.back() == ' ') name.pop_back();
    if (!name.empty()) return name;
  }
#endif
  return "unknown";
}

}  // namespace ingot
