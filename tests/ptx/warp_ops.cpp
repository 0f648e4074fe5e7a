// What lanes of a warp do together (shfl, vote, match, redux), barriers, and the ends of a thread. The warp loop has
// seen to it that all lanes of the member mask are here; `lanes` are those that take part.
#include <algorithm>

#include "ptx/instruction_table.h"
#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

enum : uint8_t { kUp, kDown, kButterfly, kIndex };

void shuffle(Warp& w, const Instruction& i, uint32_t lanes) {  // d, p, a, b, c, mask
  ++w.block->counters.shuffles;
  uint32_t from[32], predicate = 0;
  std::memcpy(from, w.lane_array<uint32_t>(i.r[2]), sizeof from);
  for_lanes(lanes, [&](int lane) {
    const uint32_t l = static_cast<uint32_t>(lane), b = static_cast<uint32_t>(w.raw(i, 3, lane)) & 31,
                   c = static_cast<uint32_t>(w.raw(i, 4, lane));
    const uint32_t segment = c >> 8 & 31, most = (l & segment) | (c & 31 & ~segment), least = l & segment;
    int64_t j;
    bool in_range;
    switch (i.flags) {
      case kUp:
        j = int64_t{l} - b, in_range = j >= int64_t{most};
        break;
      case kDown:
        j = l + b, in_range = j <= int64_t{most};
        break;
      case kButterfly:
        j = l ^ b, in_range = j <= int64_t{most};
        break;
      default:
        j = least | (b & ~segment), in_range = j <= int64_t{most};
    }
    if (!in_range) j = l;
    if (!(lanes >> j & 1))
      w.fail(i, lane, FailureKind::kUndefined, "shfl reads lane " + std::to_string(j) + ", which does not take part");
    w.set_raw(i, 0, lane, from[j]);
    predicate |= uint32_t{in_range} << lane;
  });
  w.set_predicate(i.r[1], lanes, predicate);
}

Exec select_shfl(const Match& m, Instruction& i) {
  const std::string_view mode = m.slots[1];
  i.flags = mode == "up" ? kUp : mode == "down" ? kDown : mode == "bfly" ? kButterfly : kIndex;
  i.flow = Flow::kMaskedSync;
  i.mask_operand = 5;
  return shuffle;
}

uint32_t voted(Warp& w, const Instruction& i) { return w.predicate(i.r[1]) ^ (i.predicate_not ? ~0u : 0); }

Exec select_vote(const Match& m, Instruction& i) {
  i.flow = Flow::kMaskedSync;
  i.mask_operand = 2;
  i.flags = m.has("all") ? 0 : m.has("any") ? 1 : 2;
  if (m.has("ballot")) {
    return [](Warp& w, const Instruction& k, uint32_t lanes) {
      const uint32_t ballot = voted(w, k) & lanes;
      for_lanes(lanes, [&](int lane) { w.set_raw(k, 0, lane, ballot); });
    };
  }
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    const uint32_t yes = voted(w, k) & lanes;
    const bool r = k.flags == 0 ? yes == lanes : k.flags == 1 ? yes != 0 : yes == lanes || yes == 0;
    w.set_predicate(k.r[0], lanes, r ? ~0u : 0);
  };
}

Exec select_match_any(const Match&, Instruction& i) {  // d, a, mask
  i.flow = Flow::kMaskedSync;
  i.mask_operand = 2;
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    uint32_t r[32];
    for_lanes(lanes, [&](int lane) {
      r[lane] = 0;
      for_lanes(lanes, [&](int other) { r[lane] |= uint32_t{w.raw(k, 1, lane) == w.raw(k, 1, other)} << other; });
    });
    for_lanes(lanes, [&](int lane) { w.set_raw(k, 0, lane, r[lane]); });
  };
}

Exec select_match_all(const Match&, Instruction& i) {  // d, p, a, mask
  i.flow = Flow::kMaskedSync;
  i.mask_operand = 3;
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    const uint64_t first = w.raw(k, 2, std::countr_zero(lanes));
    bool all = true;
    for_lanes(lanes, [&](int lane) { all = all && w.raw(k, 2, lane) == first; });
    for_lanes(lanes, [&](int lane) { w.set_raw(k, 0, lane, all ? lanes : 0); });
    w.set_predicate(k.r[1], lanes, all ? ~0u : 0);
  };
}

Exec select_redux(const Match& m, Instruction& i) {  // d, a, mask
  i.flow = Flow::kMaskedSync;
  i.mask_operand = 2;
  constexpr std::string_view names[] = {"add", "min", "max", "and", "or", "xor"};
  for (uint8_t k = 0; k < 6; ++k) {
    if (m.slots[1] == names[k]) i.flags = k;
  }
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    uint32_t r = static_cast<uint32_t>(w.raw(k, 1, std::countr_zero(lanes)));
    for_lanes(lanes & (lanes - 1), [&](int lane) {
      const uint32_t x = static_cast<uint32_t>(w.raw(k, 1, lane));
      const bool less = k.type == Type::kS32 ? static_cast<int32_t>(x) < static_cast<int32_t>(r) : x < r;
      switch (k.flags) {
        case 0:
          r += x;
          break;
        case 1:
          r = less ? x : r;
          break;
        case 2:
          r = less ? r : x;
          break;
        case 3:
          r &= x;
          break;
        case 4:
          r |= x;
          break;
        default:
          r ^= x;
      }
    });
    for_lanes(lanes, [&](int lane) { w.set_raw(k, 0, lane, r); });
  };
}

Exec select_activemask(const Match&, Instruction&) {
  return [](Warp& w, const Instruction& i, uint32_t lanes) {
    for_lanes(lanes, [&](int lane) { w.set_raw(i, 0, lane, lanes); });
  };
}

Exec select_elect(const Match&, Instruction& i) {  // d, p, mask
  i.flow = Flow::kMaskedSync;
  i.mask_operand = 2;
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    const uint32_t leader = static_cast<uint32_t>(std::countr_zero(lanes));
    for_lanes(lanes, [&](int lane) { w.set_raw(k, 0, lane, leader); });
    w.set_predicate(k.r[1], lanes, 1u << leader);
  };
}

Exec select_syncwarp(const Match&, Instruction& i) {
  i.flow = Flow::kMaskedSync;
  i.mask_operand = 0;
  return [](Warp& w, const Instruction&, uint32_t) { w.tick = ++w.block->tick; };
}

void never(Warp&, const Instruction&, uint32_t) {}

template <BarrierKind kKind>
Exec select_barrier(const Match&, Instruction& i) {
  // sync, arrive: barrier, threads. red: d, barrier, threads, predicate; the threads may be left out.
  i.flow = Flow::kBarrier;
  i.flags = static_cast<uint8_t>(kKind);
  if (kKind >= BarrierKind::kPopc && i.r[3] == kNoRegister) {
    i.r[3] = i.r[2];
    i.r[2] = kNoRegister;
  }
  return never;
}

template <Flow kFlow>
Exec select_end(const Match&, Instruction& i) {
  i.flow = kFlow;
  return never;
}
Exec select_nothing(const Match&, Instruction&) { return never; }

constexpr Form kForms[] = {
    {"shfl sync up|down|bfly|idx b32", "=dp b32 b32 b32 b32", select_shfl},
    {"vote sync all|any|uni pred", "=p p b32", select_vote},
    {"vote sync ballot b32", "=b32 p b32", select_vote},
    {"match any sync b32|b64", "=b32 T b32", select_match_any},
    {"match all sync b32", "=dp T b32", select_match_all},
    {"redux sync add|min|max u32|s32", "=T T b32", select_redux},
    {"redux sync and|or|xor b32", "=T T b32", select_redux},
    {"activemask b32", "=b32", select_activemask},
    {"elect sync", "=ep b32", select_elect},
    {"bar warp sync", "b32", select_syncwarp},
    {"bar cta? sync", "u32 u32?", select_barrier<BarrierKind::kSync>},
    {"bar cta? arrive", "u32 u32", select_barrier<BarrierKind::kArrive>},
    {"bar cta? red popc u32", "=u32 u32 u32 p", select_barrier<BarrierKind::kPopc>},
    {"bar cta? red popc u32", "=u32 u32 p", select_barrier<BarrierKind::kPopc>},
    {"bar cta? red and pred", "=p u32 u32 p", select_barrier<BarrierKind::kAnd>},
    {"bar cta? red and pred", "=p u32 p", select_barrier<BarrierKind::kAnd>},
    {"bar cta? red or pred", "=p u32 u32 p", select_barrier<BarrierKind::kOr>},
    {"bar cta? red or pred", "=p u32 p", select_barrier<BarrierKind::kOr>},
    {"barrier cta? sync aligned?", "u32 u32?", select_barrier<BarrierKind::kSync>},
    {"barrier cta? arrive aligned?", "u32 u32", select_barrier<BarrierKind::kArrive>},
    {"barrier cta? red popc aligned? u32", "=u32 u32 u32 p", select_barrier<BarrierKind::kPopc>},
    {"barrier cta? red popc aligned? u32", "=u32 u32 p", select_barrier<BarrierKind::kPopc>},
    {"barrier cta? red and aligned? pred", "=p u32 u32 p", select_barrier<BarrierKind::kAnd>},
    {"barrier cta? red and aligned? pred", "=p u32 p", select_barrier<BarrierKind::kAnd>},
    {"barrier cta? red or aligned? pred", "=p u32 u32 p", select_barrier<BarrierKind::kOr>},
    {"barrier cta? red or aligned? pred", "=p u32 p", select_barrier<BarrierKind::kOr>},
    {"exit", "", select_end<Flow::kExit>},
    {"trap", "", select_end<Flow::kTrap>},
    {"brkpt", "", select_end<Flow::kTrap>},
    {"nanosleep u32", "u32", select_nothing},
    {"griddepcontrol launch_dependents|wait", "", select_nothing},
};

}  // namespace

std::span<const Form> warp_forms() { return kForms; }

}  // namespace ingot::ptx
