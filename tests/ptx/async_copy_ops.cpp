// cp.async and its groups. A copy happens as late as it may: when its group is waited for; until then its destination
// holds a pattern.
#include "ptx/instruction_table.h"
#include "ptx/memory_access.h"

namespace ingot::ptx {
namespace {

void issue(Warp& w, const Instruction& i,
           uint32_t lanes) {  // to, from, bytes to read (flags 1) or a predicate that says read none (flags 2)
  const uint32_t bytes = static_cast<uint32_t>(i.imm);
  const uint32_t ignore = i.flags & 2 ? w.predicate(i.r[2]) ^ (i.predicate_not ? ~0u : 0) : 0;
  uint64_t sources[32];
  uint32_t reading = 0;
  w.block->counters.cp_async += static_cast<uint64_t>(std::popcount(lanes));
  for_lanes(lanes, [&](int lane) {
    const Place to = place_of(Space::kShared, address_of(w, i, 0, lane, i.displacement));
    sources[lane] = address_of(w, i, 1, lane, i.displacement2);
    uint32_t from_bytes = i.flags & 1 ? static_cast<uint32_t>(w.raw(i, 2, lane)) : bytes;
    if (ignore >> lane & 1) from_bytes = 0;
    if (from_bytes > bytes)
      w.abort(i, lane, FailureKind::kUndefined,
              "cp.async reads more than it copies: got " + std::to_string(from_bytes) + ", need at most " +
                  std::to_string(bytes));
    check_shared_bounds(w, i, lane, to.address, bytes);
    if (from_bytes) {
      if (sources[lane] % bytes)
        w.abort(i, lane, FailureKind::kMisaligned,
                "misaligned source of cp.async: need a multiple of " + std::to_string(bytes));
      std::byte buffer[16];
      if (from_bytes == bytes) {
        load(w, i, lane, {Space::kGlobal, sources[lane]}, buffer, bytes);
      } else {
        global_view(w, i, lane, sources[lane], from_bytes, false);
      }
      reading |= 1u << lane;
    }
    report_shared(w, i, lane, w.block->shared.issue(w.accessor(lane), static_cast<uint32_t>(to.address), bytes));
    w.pending.push_back({sources[lane], static_cast<uint32_t>(to.address), bytes, from_bytes,
                         static_cast<uint32_t>(lane), w.group[lane], w.at});
  });
  if (reading) count_global(w, sources, reading, bytes);
}

void wait(Warp& w, const Instruction& i, uint32_t lanes) {  // flags 1: for all, groups closed or not
  size_t kept = 0;
  for (const PendingCopy& copy : w.pending) {
    const bool mine = lanes >> copy.lane & 1;
    const bool old = i.flags & 1 || static_cast<int64_t>(copy.group) < static_cast<int64_t>(w.group[copy.lane]) - i.imm;
    if (!mine || !old) {
      w.pending[kept++] = copy;
      continue;
    }
    std::byte* to = w.block->shared.data() + copy.to;
    std::memset(to, 0, copy.bytes);
    if (copy.from_bytes)
      std::memcpy(to, global_view(w, i, static_cast<int>(copy.lane), copy.from, copy.from_bytes, false),
                  copy.from_bytes);
    Accessor who = w.accessor(static_cast<int>(copy.lane));
    who.pc = copy.pc;
    w.block->shared.complete(who, copy.to, copy.bytes);
  }
  w.pending.resize(kept);
}

Exec select_issue(const Match& m, Instruction& i) {
  const bool sizes = m.has("ca") ? i.imm == 4 || i.imm == 8 || i.imm == 16 : i.imm == 16;
  if (!sizes || (i.r[1] != kNoRegister && !(i.wide & 2)) || (i.space != Space::kGeneric && i.space != Space::kShared))
    return nullptr;
  return issue;
}
Exec select_issue_all(const Match& m, Instruction& i) { return select_issue(m, i); }
Exec select_issue_some(const Match& m, Instruction& i) {
  i.flags = 1;
  return select_issue(m, i);
}
Exec select_issue_if(const Match& m, Instruction& i) {
  i.flags = 2;
  return select_issue(m, i);
}

Exec select_commit(const Match&, Instruction&) {
  return [](Warp& w, const Instruction&, uint32_t lanes) { for_lanes(lanes, [&](int lane) { ++w.group[lane]; }); };
}
Exec select_wait_group(const Match&, Instruction&) { return wait; }
Exec select_wait_all(const Match&, Instruction& i) {
  i.flags = 1;
  return wait;
}

#define COPY "cp async ca|cg shared|shared::cta global "
#define PREFETCH " L2::64B|L2::128B|L2::256B?"
constexpr Form kForms[] = {
    {COPY "L2::64B|L2::128B|L2::256B?", "a a #", select_issue_all},
    {COPY "L2::64B|L2::128B|L2::256B?", "a a # b32", select_issue_some},
    {COPY "L2::64B|L2::128B|L2::256B?", "a a # p", select_issue_if},
    {COPY "L2::cache_hint" PREFETCH, "a a # b64", select_issue_all},
    {COPY "L2::cache_hint" PREFETCH, "a a # b32 b64", select_issue_some},
    {"cp async commit_group", "", select_commit},
    {"cp async wait_group", "#", select_wait_group},
    {"cp async wait_all", "", select_wait_all},
};

}  // namespace

std::span<const Form> async_copy_forms() { return kForms; }

}  // namespace ingot::ptx
