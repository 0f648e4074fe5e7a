// The checks behind ld, st, atom, cp.async and the matrix loads.
#include "ptx/memory_access.h"

#include <algorithm>

namespace ingot::ptx {
namespace {

std::string bytes_text(uint32_t bytes, uint64_t address) {
  return std::to_string(bytes) + " bytes at " + std::to_string(address);
}

void check_alignment(Warp& w, const Instruction& i, int lane, uint64_t address, uint32_t bytes, const char* space) {
  if (address % bytes) {
    w.abort(i, lane, FailureKind::kMisaligned,
            std::string("misaligned ") + space + " access: " + bytes_text(bytes, address % 256) +
                " of its 256, need a multiple of " + std::to_string(bytes));
  }
}

}  // namespace

Place place_of(Space space, uint64_t address) {
  if (space != Space::kGeneric) return {space == Space::kConst ? Space::kGlobal : space, address};
  if (address - kSharedWindow < kWindowBytes) return {Space::kShared, address - kSharedWindow};
  if (address - kLocalWindow < kWindowBytes) return {Space::kLocal, address - kLocalWindow};
  if (address - kParamWindow < kWindowBytes) return {Space::kParam, address - kParamWindow};
  return {Space::kGlobal, address};
}

std::byte* global_view(Warp& w, const Instruction& i, int lane, uint64_t address, uint32_t bytes, bool write) {
  const Allocation* a = w.recent;
  if (!a || address - a->address > a->size || bytes > a->size - (address - a->address) || (write && a->read_only)) {
    const std::string problem = w.block->memory->problem(address, bytes, write);
    if (!problem.empty())
      w.abort(i, lane, FailureKind::kOutOfBounds, std::string(write ? "global write " : "global read ") + problem);
    a = w.recent = w.block->memory->find(address);
  }
  return a->data + (address - a->address);
}

void check_shared_bounds(Warp& w, const Instruction& i, int lane, uint64_t address, uint32_t bytes) {
  const uint64_t size = w.block->shared.size();
  if (address > size || bytes > size - address) {
    w.abort(i, lane, FailureKind::kOutOfBounds,
            "shared access out of bounds: " + bytes_text(bytes, address) + ", the block has " + std::to_string(size));
  }
  check_alignment(w, i, lane, address, bytes, "shared");
}

void report_shared(Warp& w, const Instruction& i, int lane, const SharedFinding& found) {
  if (found.problem == SharedProblem::kNone) return;
  if (found.problem == SharedProblem::kUnwritten && !w.block->options->check_unwritten_shared) return;
  const Kernel& kernel = *w.block->kernel;
  const auto other = [&](const char* did) {
    return std::string(": thread ") + std::to_string(found.other_thread) + " " + did + " it, " +
           w.block->module->describe(kernel, kernel.code[found.other_pc]);
  };
  switch (found.problem) {
    case SharedProblem::kInFlight:
      return w.fail(i, lane, FailureKind::kInFlight,
                    "reads shared memory that cp.async is still filling" + other("issued"));
    case SharedProblem::kOverInFlight:
      return w.fail(i, lane, FailureKind::kInFlight,
                    "writes shared memory that cp.async is still filling" + other("issued"));
    case SharedProblem::kUnwritten:
      return w.fail(i, lane, FailureKind::kUnwrittenShared, "reads shared memory that nobody wrote");
    case SharedProblem::kReadAfterWrite:
      return w.fail(i, lane, FailureKind::kRace,
                    "race: reads shared memory without a barrier after its write" + other("wrote"));
    case SharedProblem::kWriteAfterRead:
      return w.fail(i, lane, FailureKind::kRace,
                    "race: writes shared memory without a barrier after its read" + other("read"));
    default:
      return w.fail(i, lane, FailureKind::kRace,
                    "race: writes shared memory without a barrier after another write" + other("wrote"));
  }
}

void load(Warp& w, const Instruction& i, int lane, Place at, void* out, uint32_t bytes, bool atomic) {
  switch (at.space) {
    case Space::kShared: {
      check_shared_bounds(w, i, lane, at.address, bytes);
      report_shared(w, i, lane,
                    w.block->shared.read(w.accessor(lane, atomic), static_cast<uint32_t>(at.address), bytes));
      std::memcpy(out, w.block->shared.data() + at.address, bytes);
      return;
    }
    case Space::kLocal: {
      const uint64_t size = w.block->kernel->local_bytes;
      if (at.address > size || bytes > size - at.address)
        w.abort(i, lane, FailureKind::kOutOfBounds,
                "local read out of bounds: " + bytes_text(bytes, at.address) + " of " + std::to_string(size));
      check_alignment(w, i, lane, at.address, bytes, "local");
      std::memcpy(out, w.local.data() + lane * size + at.address, bytes);
      return;
    }
    case Space::kParam: {
      const uint64_t size = w.block->kernel->parameter_bytes;
      if (at.address > size || bytes > size - at.address)
        w.abort(i, lane, FailureKind::kOutOfBounds,
                "parameter read out of bounds: " + bytes_text(bytes, at.address) + " of " + std::to_string(size));
      std::memcpy(out, w.block->parameters + at.address, bytes);
      return;
    }
    default:
      break;
  }
  check_alignment(w, i, lane, at.address, bytes, "global");
  const std::byte* from = global_view(w, i, lane, at.address, bytes, false);
  if (w.recent->written && w.block->options->check_unwritten_global) {
    const uint8_t* written = w.recent->written.get() + (at.address - w.recent->address);
    for (uint32_t k = 0; k < bytes; ++k) {
      if (!__atomic_load_n(written + k, __ATOMIC_RELAXED)) {
        w.fail(i, lane, FailureKind::kUnwrittenGlobal,
               "reads global memory that nobody wrote: offset " + std::to_string(at.address + k - w.recent->address) +
                   " of " + std::to_string(w.recent->size));
        break;
      }
    }
  }
  std::memcpy(out, from, bytes);
}

void store(Warp& w, const Instruction& i, int lane, Place at, const void* in, uint32_t bytes, bool atomic) {
  switch (at.space) {
    case Space::kShared: {
      check_shared_bounds(w, i, lane, at.address, bytes);
      std::byte* to = w.block->shared.data() + at.address;
      report_shared(w, i, lane,
                    w.block->shared.write(w.accessor(lane, atomic), static_cast<uint32_t>(at.address), bytes,
                                          std::memcmp(to, in, bytes) == 0));
      std::memcpy(to, in, bytes);
      return;
    }
    case Space::kLocal: {
      const uint64_t size = w.block->kernel->local_bytes;
      if (at.address > size || bytes > size - at.address)
        w.abort(i, lane, FailureKind::kOutOfBounds,
                "local write out of bounds: " + bytes_text(bytes, at.address) + " of " + std::to_string(size));
      check_alignment(w, i, lane, at.address, bytes, "local");
      std::memcpy(w.local.data() + lane * size + at.address, in, bytes);
      return;
    }
    case Space::kParam:
      w.abort(i, lane, FailureKind::kOutOfBounds, "write to a kernel parameter");
    default:
      break;
  }
  check_alignment(w, i, lane, at.address, bytes, "global");
  std::byte* to = global_view(w, i, lane, at.address, bytes, true);
  std::memcpy(to, in, bytes);
  if (w.recent->written) {
    uint8_t* written = w.recent->written.get() + (at.address - w.recent->address);
    for (uint32_t k = 0; k < bytes; ++k) __atomic_store_n(written + k, 1, __ATOMIC_RELAXED);
  }
}

void count_shared(Warp& w, const uint64_t* address, uint32_t lanes, uint32_t bytes) {
  Counters& c = w.block->counters;
  ++c.shared_requests;
  // 8-byte accesses take two passes by half warps, 16-byte ones four by quarters; lanes that read the same word share
  // it.
  const int group = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  for (int first = 0; first < 32; first += group) {
    // Different words of each bank; 0: none yet.
    uint64_t words[32][32];
    int per_bank[32] = {}, most = 1;
    for (int lane = first; lane < first + group; ++lane) {
      if (!(lanes >> lane & 1)) continue;
      for (uint32_t k = 0; k < std::max(1u, bytes / 4); ++k) {
        const uint64_t word = address[lane] / 4 + k;
        uint64_t* in_bank = words[word & 31];
        int& count = per_bank[word & 31];
        if (std::find(in_bank, in_bank + count, word) != in_bank + count) continue;
        in_bank[count++] = word;
        most = std::max(most, count);
      }
    }
    c.bank_conflicts += static_cast<uint64_t>(most - 1);
    w.block->conflicts[w.at] += static_cast<uint64_t>(most - 1);
  }
}

void count_global(Warp& w, const uint64_t* address, uint32_t lanes, uint32_t bytes) {
  uint64_t sectors[64];
  int n = 0;
  bool sorted = true;
  for_lanes(lanes, [&](int lane) {
    for (uint64_t s = address[lane] / 32; s <= (address[lane] + bytes - 1) / 32; ++s) {
      if (n && sectors[n - 1] == s) continue;
      sorted = sorted && (n == 0 || sectors[n - 1] < s);
      if (n < 64) sectors[n++] = s;
    }
  });
  if (!sorted) {
    std::sort(sectors, sectors + n);
    n = static_cast<int>(std::unique(sectors, sectors + n) - sectors);
  }
  ++w.block->counters.global_requests;
  w.block->counters.global_sectors += static_cast<uint64_t>(n);
}

}  // namespace ingot::ptx
