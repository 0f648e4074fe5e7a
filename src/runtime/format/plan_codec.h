// Plan ↔ FlatBuffer bytes. Both directions in one file, so that they cannot drift apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ingot/status.h"
#include "runtime/plan.h"

namespace ingot {

inline constexpr size_t kMaxPlanBytes = size_t{64} << 20;
inline constexpr size_t kMaxSlots = 1 << 17, kMaxSteps = 1 << 17;

// Where each blob of a plan lies in the blob section.
struct BlobRange {
  uint64_t offset = 0, bytes = 0;
};

// `ranges`: one for each blob of the plan. Equal plans give equal bytes.
Expected<std::vector<std::byte>> encode_plan(const Plan& plan, std::span<const BlobRange> ranges);

// `bytes` come from anywhere and are 8-byte aligned; `blobs` is the blob section, which the plan's blobs will point into.
// Checks the structure only: validate_plan() checks what it means.
Expected<Plan> decode_plan(std::span<const std::byte> bytes, std::span<const std::byte> blobs);

}  // namespace ingot
