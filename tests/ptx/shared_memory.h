// Shared memory of one block with a shadow that notices races, reads of what is still on its way, and reads of what
// nobody wrote. Each word remembers its last writer and its readers since; "before" is known through vector clocks that
// barriers join. Between lanes of one warp only bar.warp.sync and barriers give an order: running in step is no promise
// of the model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ingot::ptx {

enum class SharedProblem : uint8_t {
  kNone,
  kInFlight,
  kUnwritten,
  kReadAfterWrite,
  kWriteAfterRead,
  kWriteAfterWrite,
  kOverInFlight
};

struct SharedFinding {
  SharedProblem problem = SharedProblem::kNone;
  uint32_t other_thread = 0, other_pc = 0;  // the access it collides with
};

// Who accesses: a lane of a warp at a time, with what that warp knows of the others' times.
struct Accessor {
  uint32_t warp, lane, tick, pc;
  const uint32_t* known;  // per warp: accesses up to that tick lie behind us
  bool atomic = false;
};

class SharedMemory {
 public:
  void reset(uint32_t bytes);
  std::byte* data() { return data_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(data_.size()); }

  // [at, at + bytes) is in bounds and aligned to `bytes`, a power of two up to 16.
  SharedFinding read(const Accessor& who, uint32_t at, uint32_t bytes);
  // `same`: the bytes written are those that are there. Writing them twice in one warp is no race.
  SharedFinding write(const Accessor& who, uint32_t at, uint32_t bytes, bool same);
  // cp.async: from issue on nobody may touch the bytes; `complete` makes them the accessor's write of now.
  SharedFinding issue(const Accessor& who, uint32_t at, uint32_t bytes);
  void complete(const Accessor& who, uint32_t at, uint32_t bytes);

 private:
  struct Cell {
    uint32_t write_tick, read_tick, write_pc, read_pc, readers;  // readers: a bit a warp
    uint8_t write_warp, write_lane, read_lane, flags;
  };
  struct ReadTimes {
    std::array<uint32_t, 32> tick;
    std::array<uint8_t, 32> lane;
  };
  static bool before(const Accessor& who, uint32_t warp, uint32_t lane, uint32_t tick);
  SharedFinding read_cell(Cell& cell, const Accessor& who);
  SharedFinding write_cell(Cell& cell, const Accessor& who, bool same);
  template <class F>
  SharedFinding each_cell(uint32_t at, uint32_t bytes, bool joins, F f);
  void split(uint32_t word);

  std::vector<std::byte> data_;
  std::vector<Cell> words_, bytes_;                   // bytes_ serve words that are accessed in parts
  std::unordered_map<const Cell*, ReadTimes> reads_;  // of cells read at several times
};

}  // namespace ingot::ptx
