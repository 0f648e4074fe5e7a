// ld and st in all spaces, with vectors; cache hints are taken and mean nothing here. Fences, prefetches and cache
// policies.
#include "ptx/instruction_table.h"
#include "ptx/memory_access.h"

namespace ingot::ptx {
namespace {

uint64_t extend(uint64_t value, Type t) {
  switch (t) {
    case Type::kS8:
      return static_cast<uint64_t>(static_cast<int8_t>(value));
    case Type::kS16:
      return static_cast<uint64_t>(static_cast<int16_t>(value));
    case Type::kS32:
      return static_cast<uint64_t>(static_cast<int32_t>(value));
    default:
      return value;
  }
}

// Counts a request whose lanes may, with generic addresses, reach several spaces.
void count(Warp& w, const Place* places, uint32_t lanes, uint32_t bytes) {
  uint64_t address[32];
  uint32_t shared = 0, global = 0, local = 0;
  for_lanes(lanes, [&](int lane) {
    address[lane] = places[lane].address;
    const uint32_t bit = 1u << lane;
    (places[lane].space == Space::kShared ? shared : places[lane].space == Space::kGlobal ? global : local) |= bit;
  });
  if (shared) count_shared(w, address, shared, bytes);
  if (global) count_global(w, address, global, bytes);
  if (local && places[std::countr_zero(local)].space == Space::kLocal) ++w.block->counters.local_requests;
}

void load_lanes(Warp& w, const Instruction& i, uint32_t lanes) {  // d…, a
  const uint32_t n = i.vector, size = static_cast<uint32_t>(size_of(i.type));
  Place places[32] = {};
  for_lanes(lanes,
            [&](int lane) { places[lane] = place_of(i.space, address_of(w, i, i.vector, lane, i.displacement)); });
  count(w, places, lanes, n * size);
  for_lanes(lanes, [&](int lane) {
    std::byte buffer[32];
    load(w, i, lane, places[lane], buffer, n * size);
    for (uint32_t e = 0; e < n; ++e) {
      uint64_t value = 0;
      std::memcpy(&value, buffer + e * size, size);
      w.set_raw(i, static_cast<int>(e), lane, extend(value, i.type));
    }
  });
}

void store_lanes(Warp& w, const Instruction& i, uint32_t lanes) {  // a, s…
  const uint32_t n = i.vector, size = static_cast<uint32_t>(size_of(i.type));
  Place places[32] = {};
  for_lanes(lanes, [&](int lane) { places[lane] = place_of(i.space, address_of(w, i, 0, lane, i.displacement)); });
  count(w, places, lanes, n * size);
  for_lanes(lanes, [&](int lane) {
    std::byte buffer[32];
    for (uint32_t e = 0; e < n; ++e) {
      const uint64_t value = w.raw(i, static_cast<int>(e) + 1, lane);
      std::memcpy(buffer + e * size, &value, size);
    }
    store(w, i, lane, places[lane], buffer, n * size);
  });
}

bool set_space(const Match& m, Instruction& i, int address_operand) {
  const auto has = [&](std::string_view name) { return m.has(name); };
  const Space named = has("global")                                               ? Space::kGlobal
                      : has("shared") || has("shared::cta")                       ? Space::kShared
                      : has("local")                                              ? Space::kLocal
                      : has("const")                                              ? Space::kConst
                      : has("param") || has("param::entry") || has("param::func") ? Space::kParam
                                                                                  : Space::kGeneric;
  // Parameters of functions live in local memory; variables in constant memory are part of global memory.
  const bool call_parameter = named == Space::kParam && i.space == Space::kLocal;
  if (i.space != Space::kGeneric && i.space != named && !call_parameter) return false;
  if (!call_parameter) i.space = named;
  const bool wide = i.wide >> address_operand & 1;
  return wide || i.r[address_operand] == kNoRegister || (named != Space::kGlobal && named != Space::kGeneric);
}

Exec select_ld(const Match& m, Instruction& i) {
  if (m.has("L2::cache_hint") != (i.r[i.vector + 1] != kNoRegister)) return nullptr;
  return size_of(m.type) * i.vector <= 16 && set_space(m, i, i.vector) ? load_lanes : nullptr;
}
Exec select_st(const Match& m, Instruction& i) {
  if (m.has("L2::cache_hint") != (i.r[i.vector + 1] != kNoRegister)) return nullptr;
  return size_of(m.type) * i.vector <= 16 && set_space(m, i, 0) ? store_lanes : nullptr;
}

void nothing(Warp&, const Instruction&, uint32_t) {}
Exec select_nothing(const Match&, Instruction&) { return nothing; }
Exec select_policy(const Match&, Instruction&) {
  return [](Warp& w, const Instruction& i, uint32_t lanes) {
    for_lanes(lanes, [&](int lane) { w.set_raw(i, 0, lane, 0); });
  };
}

#define TYPES "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64|f16|bf16"
#define EVICT                                                                             \
  "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate? " \
  "L2::evict_normal|L2::evict_first|L2::evict_last? "
#define HINTS EVICT "L2::cache_hint? L2::64B|L2::128B|L2::256B? v2|v4? "
constexpr Form kForms[] = {
    {"ld weak|volatile? global|shared|shared::cta|local|const|param|param::entry|param::func? ca|cg|cs|lu|cv? " HINTS
         TYPES,
     "=v~T a b64?", select_ld},
    {"ld relaxed|acquire cta|cluster|gpu|sys global|shared|shared::cta? " HINTS TYPES, "=v~T a b64?", select_ld},
    {"ld global ca|cg|cs? nc " HINTS TYPES, "=v~T a b64?", select_ld},
    {"ldu global? v2|v4? " TYPES, "=v~T a b64?", select_ld},
    {"st weak|volatile? global|shared|shared::cta|local|param|param::func? wb|cg|cs|wt? " EVICT
     "L2::cache_hint? v2|v4? " TYPES,
     "a v~T b64?", select_st},
    {"st relaxed|release cta|cluster|gpu|sys global|shared|shared::cta? " EVICT "L2::cache_hint? v2|v4? " TYPES,
     "a v~T b64?", select_st},
    {"membar cta|gl|sys", "", select_nothing},
    {"fence sc|acq_rel? cta|gpu|sys", "", select_nothing},
    {"prefetch global|local? L1|L2", "a", select_nothing},
    {"prefetch global L2::evict_last|L2::evict_normal", "a", select_nothing},
    {"prefetchu L1", "a", select_nothing},
    {"createpolicy fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged "
     "L2::evict_first|L2::evict_unchanged? b64",
     "=T f32?", select_policy},
};

}  // namespace

std::span<const Form> memory_forms() { return kForms; }

}  // namespace ingot::ptx
