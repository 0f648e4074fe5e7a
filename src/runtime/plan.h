// Plan: what the builder hands to the runtime. Plain data; indices, no pointers. Steps run in order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ingot/types.h"
#include "runtime/ops/op.h"

namespace ingot {

inline constexpr uint32_t kNoIndex = ~uint32_t{0};

// One tensor. Its shape has kDynamic where the profile lets a dim vary; max_shape sizes its memory.
struct Slot {
  enum class Home : uint8_t { kInput, kOutput, kConstant, kArena };
  std::string name;      // the model's name where it has one
  TensorType type;
  Shape max_shape;
  Home home = Home::kArena;
  uint64_t offset = 0;   // kArena: byte offset in the arena, 64-byte aligned; kConstant: index of a blob
  uint64_t bytes = 0;    // size in memory at max_shape
};

struct Step {
  std::string name;                 // "conv1 + bn1 + relu1"
  std::string tactic;
  uint32_t tactic_version = 0;
  OpParams params;
  std::vector<uint32_t> inputs;     // slots; kNoIndex for an optional input or output left out
  std::vector<uint32_t> outputs;    // in the arena or a graph output; a graph output that is an input or constant: Identity
  uint32_t packed_inputs = 0;       // bit i: input i lives in the blob; its slot keeps the type but its bytes are not stored.
                                    // What Tactic::packed_inputs() says, at build and at load alike
  uint32_t blob = kNoIndex;         // packed constants
  uint64_t workspace_offset = 0, workspace_bytes = 0;  // in the arena
  // Shape arithmetic: computed by reference code when shapes are set, not at each run. Outputs stay in the arena for good.
  bool shape_step = false;
  // Its outputs' shapes depend on data: worked out in run(), just before its kernel. So does every step that reads a tensor
  // of varying shape from a late step. Until then such outputs count with their max_shape.
  bool late = false;
  std::vector<uint32_t> bodies;     // control flow: indices into Plan::bodies; their arenas lie at the workspace's start
};

inline constexpr size_t kMaxDimNameBytes = 256;

// One input's dims: min ≤ opt ≤ max in each.
struct ProfileEntry {
  uint32_t slot = 0;
  Shape min, opt, max;
  // Of the network: one for each dim, empty for fixed ones; or none at all. Dims of one name are equal in every run, and one that
  // is named a sum of others, "past+seq", is that sum.
  std::vector<std::string> dim_names = {};
};

// The network, or a body of one of its control-flow steps: then inputs and outputs are the step's, target and hashes are
// empty, and the arena is part of the step's workspace.
struct Plan {
  std::vector<Slot> slots;
  std::vector<Step> steps;
  std::vector<uint32_t> inputs, outputs;         // slots, in the model's order; names are unique
  std::vector<ProfileEntry> profile;             // one for each input
  std::vector<Plan> bodies;                      // each belongs to one step
  std::vector<uint32_t> known_inputs;            // of a body: input slots whose values shape arithmetic may read
  std::vector<std::span<const std::byte>> blobs; // 64-byte aligned; constants that no step needs at run time are empty
  bool halve_blobs = false;                      // a file stores f32 blobs in half precision wherever that loses nothing
  std::vector<uint32_t> halved;                  // blobs that are still as such a file has them; the loader widens them
  uint64_t arena_bytes = 0;
  std::string target;                            // "cpu-x86-64"
  std::string device_fingerprint;                // of the machine that it was timed on
  std::string model_hash;                        // 16 hex digits of the model file
};

}  // namespace ingot
