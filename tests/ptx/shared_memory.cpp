// A word's cell holds one read time for all readers; the rare cell that needs several keeps them in a table beside it.
#include "ptx/shared_memory.h"

#include <bit>
#include <cstring>

namespace ingot::ptx {
namespace {

enum : uint8_t { kWritten = 1, kInFlight = 2, kAtomic = 4, kManyLanes = 8, kSplit = 16, kManyTimes = 32 };

}  // namespace

void SharedMemory::reset(uint32_t bytes) {
  data_.assign(bytes, std::byte{0xcd});
  words_.assign((bytes + 3) / 4, Cell{});
  bytes_.resize(words_.size() * 4);  // of use only where split() has filled them
  reads_.clear();
}

bool SharedMemory::before(const Accessor& who, uint32_t warp, uint32_t lane, uint32_t tick) {
  if (warp == who.warp) return lane == who.lane || tick < who.tick;
  return tick <= who.known[warp];
}

void SharedMemory::split(uint32_t word) {
  if (words_[word].flags & kSplit) return;
  for (uint32_t k = 0; k < 4; ++k) {
    Cell& cell = bytes_[word * 4 + k];
    cell = words_[word];
    if (cell.flags & kManyTimes) reads_[&cell] = reads_[&words_[word]];
  }
  words_[word].flags |= kSplit;
}

template <class F>
SharedFinding SharedMemory::each_cell(uint32_t at, uint32_t bytes, bool joins, F f) {
  SharedFinding found;
  const auto visit = [&](Cell& cell) {
    const SharedFinding one = f(cell);
    if (found.problem == SharedProblem::kNone) found = one;
  };
  if (bytes < 4) {
    split(at / 4);
    for (uint32_t k = 0; k < bytes; ++k) visit(bytes_[at + k]);
    return found;
  }
  for (uint32_t word = at / 4; word < (at + bytes) / 4; ++word) {
    if (words_[word].flags & kSplit) {
      for (uint32_t k = 0; k < 4; ++k) visit(bytes_[word * 4 + k]);
      if (joins) words_[word] = bytes_[word * 4];  // all four are alike after a write
    } else {
      visit(words_[word]);
    }
  }
  return found;
}

SharedFinding SharedMemory::read_cell(Cell& cell, const Accessor& who) {
  SharedFinding found;
  const auto report = [&](SharedProblem problem) {
    found = {problem, cell.write_warp * 32u + cell.write_lane, cell.write_pc};
  };
  if (cell.flags & kInFlight) {
    report(SharedProblem::kInFlight);
  } else if (!(cell.flags & kWritten)) {
    report(SharedProblem::kUnwritten);
  } else if (!(who.atomic && cell.flags & kAtomic) && !before(who, cell.write_warp, cell.write_lane, cell.write_tick)) {
    report(SharedProblem::kReadAfterWrite);
  }
  const uint32_t me = 1u << who.warp;
  if (cell.flags & kManyTimes) {
    ReadTimes& times = reads_[&cell];
    times.lane[who.warp] = (cell.readers & me) && times.tick[who.warp] == who.tick && times.lane[who.warp] != who.lane
                               ? 0xff
                               : static_cast<uint8_t>(who.lane);
    times.tick[who.warp] = who.tick;
    cell.readers |= me;
  } else {
    bool earlier = true;  // may the other readers be forgotten?
    for (uint32_t rest = cell.readers & ~me; rest && earlier; rest &= rest - 1)
      earlier = cell.read_tick <= who.known[std::countr_zero(rest)];
    if (earlier) {
      const bool again = (cell.readers & me) && cell.read_tick == who.tick;
      if (!again) cell.flags &= static_cast<uint8_t>(~kManyLanes);
      if (again && cell.read_lane != who.lane) cell.flags |= kManyLanes;
      cell.readers = me;
      cell.read_tick = who.tick;
    } else if (cell.read_tick == who.tick) {
      cell.readers |= me;
      cell.flags |= kManyLanes;
    } else {
      ReadTimes& times = reads_[&cell];
      times.tick.fill(cell.read_tick);
      times.lane.fill(cell.flags & kManyLanes ? 0xff : cell.read_lane);
      times.tick[who.warp] = who.tick;
      times.lane[who.warp] = static_cast<uint8_t>(who.lane);
      cell.readers |= me;
      cell.flags |= kManyTimes;
    }
  }
  cell.read_lane = static_cast<uint8_t>(who.lane);
  cell.read_pc = who.pc;
  return found;
}

SharedFinding SharedMemory::write_cell(Cell& cell, const Accessor& who, bool same) {
  SharedFinding found;
  if (cell.flags & kInFlight) {
    found = {SharedProblem::kOverInFlight, cell.write_warp * 32u + cell.write_lane, cell.write_pc};
  } else if (cell.flags & kWritten && !(who.atomic && cell.flags & kAtomic) && !(same && cell.write_warp == who.warp) &&
             !before(who, cell.write_warp, cell.write_lane, cell.write_tick)) {
    found = {SharedProblem::kWriteAfterWrite, cell.write_warp * 32u + cell.write_lane, cell.write_pc};
  }
  for (uint32_t rest = cell.readers; rest && found.problem == SharedProblem::kNone; rest &= rest - 1) {
    const uint32_t warp = static_cast<uint32_t>(std::countr_zero(rest));
    uint32_t tick = cell.read_tick, lane = cell.flags & kManyLanes ? 0xffu : cell.read_lane;
    if (cell.flags & kManyTimes) {
      const ReadTimes& times = reads_[&cell];
      tick = times.tick[warp];
      lane = times.lane[warp];
    }
    const bool both_atomic = who.atomic && cell.flags & kAtomic;
    if (!both_atomic && !before(who, warp, lane, tick))
      found = {SharedProblem::kWriteAfterRead, warp * 32 + (lane & 31), cell.read_pc};
  }
  if (cell.flags & kManyTimes) reads_.erase(&cell);
  // An atomic right behind a plain write of its own thread does not make that write atomic for the others.
  const bool atomic = who.atomic && (!(cell.flags & kWritten) || cell.flags & kAtomic || cell.write_tick < who.tick);
  cell = {who.tick,
          0,
          who.pc,
          0,
          0,
          static_cast<uint8_t>(who.warp),
          static_cast<uint8_t>(who.lane),
          0,
          static_cast<uint8_t>(kWritten | (atomic ? kAtomic : 0))};
  return found;
}

SharedFinding SharedMemory::read(const Accessor& who, uint32_t at, uint32_t bytes) {
  return each_cell(at, bytes, false, [&](Cell& cell) { return read_cell(cell, who); });
}

SharedFinding SharedMemory::write(const Accessor& who, uint32_t at, uint32_t bytes, bool same) {
  return each_cell(at, bytes, true, [&](Cell& cell) { return write_cell(cell, who, same); });
}

SharedFinding SharedMemory::issue(const Accessor& who, uint32_t at, uint32_t bytes) {
  std::memset(data_.data() + at, 0xcd, bytes);
  return each_cell(at, bytes, true, [&](Cell& cell) {
    const SharedFinding found = write_cell(cell, who, false);
    cell.flags |= kInFlight;
    return found;
  });
}

void SharedMemory::complete(const Accessor& who, uint32_t at, uint32_t bytes) {
  each_cell(at, bytes, true, [&](Cell& cell) {
    cell.flags &= static_cast<uint8_t>(~kInFlight);
    cell.write_tick = who.tick;
    cell.write_warp = static_cast<uint8_t>(who.warp);
    cell.write_lane = static_cast<uint8_t>(who.lane);
    return SharedFinding{};
  });
}

}  // namespace ingot::ptx
