// Engine file: a 128-byte header, then four sections — directory, plans, report, blobs. docs/engine_format.md has the bytes.
// Format versions (major: old readers must refuse; minor: only optional additions):
//   1.0  first version
//   1.1  steps may be late; bodies of control flow
//   1.2  several rows for one target of a CPU: the same network for several profiles
//   1.3  names of the dims that vary; dims of inputs may be 0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/status.h"
#include "runtime/plan.h"

namespace ingot {

inline constexpr uint16_t kFormatMajor = 1, kFormatMinor = 3;
// Rows of one target, which are its plans for several profiles.
inline constexpr size_t kMaxProfiles = 16;

// One plan to be stored; its name is plan->target. Plans of the same target are for several profiles, in the order of preference.
struct EngineTarget {
  const Plan* plan = nullptr;
};

// The bytes of an engine file. Deterministic: equal plans and report give equal bytes. Equal blobs are stored once.
Expected<std::vector<std::byte>> encode_engine(std::span<const EngineTarget> targets, std::string_view report_json);

// What an engine file holds; all spans point into the file's bytes.
struct EngineFile {
  struct Target {
    std::string name;
    std::span<const std::byte> plan;
  };
  std::vector<Target> targets;
  std::string_view report_json;
  std::span<const std::byte> blobs;
};

// Checks size, magic, version, ranges and checksums, cheapest first. `bytes` are 64-byte aligned and may be hostile.
Expected<EngineFile> read_engine_file(std::span<const std::byte> bytes, bool verify_checksums);

// Recomputes all checksums in place, for tools and tests that edit files; false if the header's ranges make no sense.
bool refresh_checksums(std::span<std::byte> bytes);

// A whole file mapped read-only. Unmapped when the last owner goes.
struct MappedFile {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};
Expected<MappedFile> map_file(const std::string& path);

}  // namespace ingot
