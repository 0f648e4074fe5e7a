// Which instruction sets this CPU and operating system offer, optionally narrowed (INGOT_CPU=avx2 in the environment, or
// by an option), so that a test can run every variant the machine is able to run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ingot {

// Levels are ordered by speed; each includes AVX2, but a CPU with AVX512-VNNI need not have AVX-VNNI: test for equality.
enum class CpuLevel : uint8_t {
  kScalar,
  kAvx2,        // AVX2 + FMA + F16C (x86-64-v3)
  kAvxVnni,     // + AVX-VNNI (vpdpbusd on 256 bits)
  kAvx512Vnni,  // AVX-512 F/BW/DQ/VL/VNNI
};
struct CpuFeatures {
  CpuLevel level = CpuLevel::kScalar;
  bool avx512 = false;  // F, BW, DQ, VL (float kernels); implied by kAvx512Vnni
};

CpuFeatures detect_cpu_features();   // the hardware, narrowed by INGOT_CPU=scalar|avx2|avx_vnni|avx512_vnni
CpuFeatures narrowed(CpuFeatures features, CpuLevel at_most);
std::string_view to_string(CpuLevel level);
std::optional<CpuLevel> parse_cpu_level(std::string_view name);  // inverse of to_string
std::string cpu_model_name();

}  // namespace ingot
