// State of a running block and its warps, and the loops over lanes that instructions are made of.
#pragma once

#include <bit>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ptx/interpreter.h"
#include "ptx/shared_memory.h"
#include "runtime/ops/half.h"

namespace ingot::ptx {

struct PendingCopy {
  uint64_t from = 0;
  uint32_t to = 0, bytes = 0, from_bytes = 0, lane = 0, group = 0, pc = 0;
};

struct Block;

struct Warp {
  Block* block = nullptr;
  uint8_t* registers = nullptr;
  uint32_t index = 0, exists = 0, live = 0, waiting = 0;  // masks of lanes
  uint32_t pc[32] = {};                                   // while `together` only pc[0] counts
  bool together = true, advanced = false;                 // advanced: the last synchronising step let some lane go on
  uint32_t at = 0;                                        // index of the instruction that runs
  uint32_t tick = 1, known[32] = {};
  uint32_t carry = 0;       // of add.cc and its like, a bit a lane
  uint32_t group[32] = {};  // cp.async groups closed so far
  std::vector<PendingCopy> pending;
  std::vector<std::byte> local;  // lane after lane
  int barrier = -1;              // waits at this one
  const Allocation* recent = nullptr;

  template <class T>
  auto* lane_array(uint32_t offset) {
    using Raw = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    return reinterpret_cast<Raw*>(registers + offset);
  }
  uint64_t raw(const Instruction& i, int operand, int lane) {
    return i.wide >> operand & 1 ? lane_array<uint64_t>(i.r[operand])[lane] : lane_array<uint32_t>(i.r[operand])[lane];
  }
  void set_raw(const Instruction& i, int operand, int lane, uint64_t value) {
    if (i.r[operand] == kNoRegister) return;
    if (i.wide >> operand & 1) {
      lane_array<uint64_t>(i.r[operand])[lane] = value;
    } else {
      lane_array<uint32_t>(i.r[operand])[lane] = static_cast<uint32_t>(value);
    }
  }
  uint32_t& predicate(uint32_t offset) { return *reinterpret_cast<uint32_t*>(registers + offset); }
  void set_predicate(uint32_t offset, uint32_t lanes, uint32_t value) {
    if (offset != kNoRegister) predicate(offset) = (predicate(offset) & ~lanes) | (value & lanes);
  }
  Accessor accessor(int lane, bool atomic = false) const {
    return {index, static_cast<uint32_t>(lane), tick, at, known, atomic};
  }
  // Records a failure of this lane at the running instruction.
  void fail(const Instruction& i, int lane, FailureKind kind, const std::string& what);
  // The same, and the block ends.
  [[noreturn]] void abort(const Instruction& i, int lane, FailureKind kind, const std::string& what);
};

struct BlockEnded {};  // thrown by abort

struct Barrier {
  uint32_t expected = 0, arrived = 0;  // warps; expected 0: all that live
  uint32_t known[32] = {};
  uint32_t members = 0;  // warps that take part, a bit each
  std::vector<uint32_t> waiters;
  BarrierKind kind = BarrierKind::kSync;
  uint32_t popc = 0, threads = 0;
};

// One worker's state; it runs blocks one after the other.
struct Block {
  const Module* module = nullptr;
  const Kernel* kernel = nullptr;
  const LaunchShape* shape = nullptr;
  const Options* options = nullptr;
  const std::byte* parameters = nullptr;
  DeviceMemory* memory = nullptr;
  uint32_t id[3] = {};
  uint64_t linear = 0;
  SharedMemory shared;
  std::vector<Warp> warps;
  std::vector<uint8_t> registers;
  Barrier barriers[16];
  uint32_t tick = 1;
  uint64_t steps = 0;
  Counters counters;
  std::vector<uint64_t> conflicts;
  std::vector<uint8_t> reached;
  std::vector<std::pair<uint64_t, Failure>> failures;  // with the block's number

  void run_one(uint64_t block);

 private:
  void start();
  void run_warp(Warp& w);
  bool step_sync(Warp& w, const Instruction& i, uint32_t active, uint32_t lanes);
  void arrive(Warp& w, const Instruction& i, uint32_t lanes);
  void release(int barrier);
  void fill_specials(Warp& w);
};

// --- lanes: a value of type T in a register is 32 bits, or 64 where T has 64.

template <class T>
T from_raw(std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t> raw) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T{static_cast<uint16_t>(raw)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<T>(raw);
  } else {
    return static_cast<T>(raw);
  }
}

template <class T>
auto to_raw(T value) {
  using Raw = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return Raw{value.bits};
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<Raw>(value);
  } else {
    return static_cast<Raw>(static_cast<std::make_unsigned_t<T>>(value));
  }
}

// d[lane] = f(s0[lane], s1[lane], …): operand 0 is d, the next ones the sources.
template <class D, class... S, class F>
inline void each_lane(Warp& w, const Instruction& i, uint32_t lanes, F f) {
  [&]<size_t... k>(std::index_sequence<k...>) {
    auto* d = w.lane_array<D>(i.r[0]);
    const std::tuple sources{w.lane_array<S>(i.r[k + 1])...};
    if (lanes == kAllLanes) {
#pragma GCC ivdep
      for (int lane = 0; lane < 32; ++lane) d[lane] = to_raw<D>(f(from_raw<S>(std::get<k>(sources)[lane])...));
    } else {
      for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        d[lane] = to_raw<D>(f(from_raw<S>(std::get<k>(sources)[lane])...));
      }
    }
  }
  (std::make_index_sequence<sizeof...(S)>{});
}

template <auto F, class D, class... S>
void map_lanes(Warp& w, const Instruction& i, uint32_t lanes) {
  each_lane<D, S...>(w, i, lanes, F);
}

template <class F>
inline void for_lanes(uint32_t lanes, F f) {
  for (; lanes; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

}  // namespace ingot::ptx
