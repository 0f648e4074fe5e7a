// ld and st in all spaces, with vectors; cache hints are taken and mean nothing here. Fences, prefetches and cache
// policies.
#include <algorithm>

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

// What lanes access, where all of it lies in one allocation, aligned and, if it is read, written: so that no lane needs
// a check of its own. Null: lane by lane then, which says what is wrong.
const Allocation* one_allocation(Warp& w, const uint64_t* address, uint32_t lanes, uint32_t bytes, bool write) {
  uint64_t low = ~uint64_t{0}, high = 0, bits = 0;
  for_lanes(lanes, [&](int lane) {
    low = std::min(low, address[lane]);
    high = std::max(high, address[lane]);
    bits |= address[lane];
  });
  const Allocation* a = w.recent;
  if (!a || low - a->address >= a->size) a = w.block->memory->find(low);
  if (!a || a->freed || (write && a->read_only)) return nullptr;
  if (bits % bytes || bytes > a->size || high - a->address > a->size - bytes) return nullptr;
  w.recent = a;
  if (write || !a->written || !w.block->options->check_unwritten_global) return a;
  const uint8_t* written = a->written.get() - a->address;
  bool all = true;
  for_lanes(lanes, [&](int lane) {
    const uint8_t* of = written + address[lane];
    if (bytes < 4) {
      for (uint32_t k = 0; k < bytes; ++k) all = all && __atomic_load_n(of + k, __ATOMIC_RELAXED);
    } else {
      for (uint32_t k = 0; k < bytes; k += 4)
        all = all && __atomic_load_n(reinterpret_cast<const uint32_t*>(of + k), __ATOMIC_RELAXED) == 0x01010101u;
    }
  });
  return all ? a : nullptr;
}

// Element `e` of each lane's access, as T in memory, to and from the registers.
template <class T, class Raw>
void take(Warp& w, const Instruction& i, uint32_t lanes, const std::byte* const* from) {
  for (uint32_t e = 0; e < i.vector; ++e) {
    if (i.r[e] == kNoRegister) continue;
    Raw* d = reinterpret_cast<Raw*>(w.registers + i.r[e]);
    for_lanes(lanes, [&](int lane) {
      T value;
      std::memcpy(&value, from[lane] + e * sizeof(T), sizeof(T));
      d[lane] = static_cast<Raw>(value);
    });
  }
}
template <class T>
void take(Warp& w, const Instruction& i, uint32_t lanes, const std::byte* const* from) {
  i.wide & 1 ? take<T, uint64_t>(w, i, lanes, from) : take<T, uint32_t>(w, i, lanes, from);
}
void take(Warp& w, const Instruction& i, uint32_t lanes, const std::byte* const* from) {
  switch (i.type) {
    case Type::kS8:
      return take<int8_t>(w, i, lanes, from);
    case Type::kS16:
      return take<int16_t>(w, i, lanes, from);
    case Type::kS32:
      return take<int32_t>(w, i, lanes, from);
    default:
      break;
  }
  switch (size_of(i.type)) {
    case 1:
      return take<uint8_t>(w, i, lanes, from);
    case 2:
      return take<uint16_t>(w, i, lanes, from);
    case 4:
      return take<uint32_t>(w, i, lanes, from);
    default:
      return take<uint64_t>(w, i, lanes, from);
  }
}

void gather(Warp& w, const Instruction& i, int lane, std::byte* to) {
  const uint32_t size = static_cast<uint32_t>(size_of(i.type));
  for (uint32_t e = 0; e < i.vector; ++e) {
    const uint64_t value = w.raw(i, static_cast<int>(e) + 1, lane);
    std::memcpy(to + e * size, &value, size);
  }
}

// All elements of an instruction are in registers of one width.
bool alike(const Instruction& i, uint32_t first) {
  const uint32_t all = ((1u << i.vector) - 1) << first, wide = i.wide & all;
  return wide == 0 || wide == all;
}

struct Request {
  uint64_t address[32];
  Space space;
  bool one_space = true;
};

// Addresses of the lanes, and whether all of them lie in one space; places are made only where not.
Request request_of(Warp& w, const Instruction& i, int operand, uint32_t lanes) {
  Request r;
  const uint64_t displacement = static_cast<uint64_t>(i.displacement);
  if (i.r[operand] == kNoRegister) {
    std::fill(std::begin(r.address), std::end(r.address), displacement);
  } else if (i.wide >> operand & 1) {
    const uint64_t* base = w.lane_array<uint64_t>(i.r[operand]);
    for (int lane = 0; lane < 32; ++lane) r.address[lane] = base[lane] + displacement;
  } else {
    const uint32_t* base = w.lane_array<uint32_t>(i.r[operand]);
    for (int lane = 0; lane < 32; ++lane) r.address[lane] = base[lane] + displacement;
  }
  const Place first = place_of(i.space, r.address[std::countr_zero(lanes)]);
  r.space = first.space;
  if (i.space == Space::kGeneric) {
    const uint64_t offset = r.address[std::countr_zero(lanes)] - first.address;
    for_lanes(lanes, [&](int lane) {
      const Place place = place_of(i.space, r.address[lane]);
      r.one_space = r.one_space && place.space == first.space;
      r.address[lane] -= r.one_space ? offset : 0;
    });
  }
  return r;
}

void load_lanes(Warp& w, const Instruction& i, uint32_t lanes) {  // d…, a
  const uint32_t n = i.vector, size = static_cast<uint32_t>(size_of(i.type));
  Request r = request_of(w, i, i.vector, lanes);
  if (r.one_space && alike(i, 0)) {
    const std::byte* from[32];
    if (r.space == Space::kGlobal || r.space == Space::kConst) {
      if (const Allocation* a = one_allocation(w, r.address, lanes, n * size, false)) {
        count_global(w, r.address, lanes, n * size);
        for_lanes(lanes, [&](int lane) { from[lane] = a->data + (r.address[lane] - a->address); });
        return take(w, i, lanes, from);
      }
    } else if (r.space == Space::kShared) {
      count_shared(w, r.address, lanes, n * size);
      for_lanes(lanes, [&](int lane) {
        check_shared_bounds(w, i, lane, r.address[lane], n * size);
        report_shared(w, i, lane, w.block->shared.read(w.accessor(lane), static_cast<uint32_t>(r.address[lane]), n * size));
        from[lane] = w.block->shared.data() + r.address[lane];
      });
      return take(w, i, lanes, from);
    }
  }
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
  Request r = request_of(w, i, 0, lanes);
  if (r.one_space && r.space == Space::kGlobal) {
    if (const Allocation* a = one_allocation(w, r.address, lanes, n * size, true)) {
      count_global(w, r.address, lanes, n * size);
      for_lanes(lanes, [&](int lane) {
        std::byte buffer[32];
        gather(w, i, lane, buffer);
        const uint64_t at = r.address[lane] - a->address;
        std::memcpy(a->data + at, buffer, n * size);
        if (a->written)
          for (uint32_t k = 0; k < n * size; ++k) __atomic_store_n(a->written.get() + at + k, uint8_t{1}, __ATOMIC_RELAXED);
      });
      return;
    }
  }
  Place places[32] = {};
  for_lanes(lanes, [&](int lane) { places[lane] = place_of(i.space, address_of(w, i, 0, lane, i.displacement)); });
  count(w, places, lanes, n * size);
  for_lanes(lanes, [&](int lane) {
    std::byte buffer[32];
    gather(w, i, lane, buffer);
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
