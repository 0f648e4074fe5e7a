// The warp loop, barriers, and blocks shared out among threads.
#include "ptx/interpreter.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

std::string source_text(const Module& module, const Kernel& kernel, const Instruction& i) {
  if (i.source < 0) return {};
  const SourcePlace& p = kernel.sources[static_cast<size_t>(i.source)];
  const auto name = [&](int file) {
    const auto it = module.files.find(file);
    const std::string path = it == module.files.end() ? "file " + std::to_string(file) : it->second;
    return path.substr(path.rfind('/') + 1);
  };
  std::string text = name(p.file) + ":" + std::to_string(p.line);
  if (p.outer_file) text += " (inlined at " + name(p.outer_file) + ":" + std::to_string(p.outer_line) + ")";
  return text;
}

std::string lanes_text(uint32_t lanes) {
  std::string text;
  for_lanes(lanes, [&](int lane) { text += (text.empty() ? "" : " ") + std::to_string(lane); });
  return text;
}

}  // namespace

const char* name_of(FailureKind kind) {
  constexpr const char* names[] = {"out of bounds", "misaligned",       "unwritten global", "race",
                                   "in flight",     "unwritten shared", "divergence",       "deadlock",
                                   "trap",          "undefined",        "endless",          "budget"};
  return names[static_cast<int>(kind)];
}

std::string Module::describe(const Kernel& kernel, const Instruction& i) const {
  const size_t index = static_cast<size_t>(&i - kernel.code.data());
  std::string text = "ptx line " + std::to_string(i.line) + ": " + kernel.text[index];
  const std::string source = source_text(*this, kernel, i);
  return source.empty() ? text : text + "; " + source;
}

void Counters::add(const Counters& o) {
  for (auto member : {&Counters::thread_instructions, &Counters::warp_instructions, &Counters::mma, &Counters::ldmatrix,
                      &Counters::cp_async, &Counters::barriers, &Counters::shuffles, &Counters::atomics,
                      &Counters::shared_requests, &Counters::bank_conflicts, &Counters::global_requests,
                      &Counters::global_sectors, &Counters::local_requests, &Counters::divergent_branches}) {
    this->*member += o.*member;
  }
}

std::string Report::text() const {
  std::string all;
  for (const Failure& f : failures) all += f.message + "\n";
  return all;
}

void Warp::fail(const Instruction& i, int lane, FailureKind kind, const std::string& what) {
  Block& b = *block;
  for (const auto& [number, f] : b.failures) {
    if (f.kind == kind && f.ptx_line == i.line) return;  // once a line is enough
  }
  Failure f{kind, {}, i.line, source_text(*b.module, *b.kernel, i)};
  f.message = b.kernel->name + ": " + what + ": block (" + std::to_string(b.id[0]) + "," + std::to_string(b.id[1]) +
              "," + std::to_string(b.id[2]) + ") thread " + std::to_string(index * 32 + static_cast<uint32_t>(lane)) +
              ", " + b.module->describe(*b.kernel, i);
  b.failures.emplace_back(b.linear, std::move(f));
}

void Warp::abort(const Instruction& i, int lane, FailureKind kind, const std::string& what) {
  fail(i, lane, kind, what);
  throw BlockEnded{};
}

void Block::fill_specials(Warp& w) {
  const uint32_t* size = shape->block;
  for (const auto& [place, wide, which] : kernel->specials) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t t = w.index * 32 + lane, below = (1u << lane) - 1;
      const uint32_t values[] = {t % size[0],
                                 t / size[0] % size[1],
                                 t / (size[0] * size[1]),
                                 size[0],
                                 size[1],
                                 size[2],
                                 id[0],
                                 id[1],
                                 id[2],
                                 shape->grid[0],
                                 shape->grid[1],
                                 shape->grid[2],
                                 lane,
                                 w.index,
                                 static_cast<uint32_t>(warps.size()),
                                 1u << lane,
                                 below,
                                 below | 1u << lane,
                                 ~(below | 1u << lane),
                                 ~below,
                                 static_cast<uint32_t>(linear % 4),
                                 4,
                                 shape->dynamic_shared,
                                 kernel->dynamic_base + shape->dynamic_shared,
                                 kernel->dynamic_base};
      const uint32_t value = values[static_cast<int>(which)];
      if (wide) {
        w.lane_array<uint64_t>(place)[lane] = value;
      } else {
        w.lane_array<uint32_t>(place)[lane] = value;
      }
    }
  }
}

void Block::start() {
  const uint32_t threads = shape->block[0] * shape->block[1] * shape->block[2], count = (threads + 31) / 32;
  shared.reset(kernel->dynamic_base + shape->dynamic_shared);
  for (Barrier& b : barriers) b = {};
  tick = 1;
  steps = 0;
  bool fresh = false;
  if (warps.size() != count) {
    warps.assign(count, {});
    registers.resize(size_t{kernel->register_bytes} * (count + 1) + 64);
    fresh = true;
  }
  // Registers hold a pattern before their first write; constants stand behind the variables. The first copy is the
  // master.
  const size_t skip = (64 - reinterpret_cast<uintptr_t>(registers.data()) % 64) % 64;
  uint8_t* base = registers.data() + skip;
  if (fresh) {
    for (uint32_t k = 0; k + 4 <= kernel->register_bytes; k += 4) std::memcpy(base + k, "\xed\xfe\xad\xde", 4);
    for (const auto& [place, wide, value] : kernel->constants) {
      for (int lane = 0; lane < 32; ++lane) std::memcpy(base + place + (wide ? 8 : 4) * lane, &value, wide ? 8 : 4);
    }
  }
  for (uint32_t k = 0; k < count; ++k) {
    Warp& w = warps[k];
    const uint32_t lanes = std::min(32u, threads - k * 32);
    w.block = this;
    w.registers = base + size_t{kernel->register_bytes} * (k + 1);
    std::memcpy(w.registers, base, kernel->register_bytes);
    w.index = k;
    w.exists = w.live = lanes == 32 ? kAllLanes : (1u << lanes) - 1;
    w.waiting = w.carry = 0;
    w.together = true;
    w.pc[0] = 0;
    w.tick = 1;
    std::fill(std::begin(w.known), std::end(w.known), 0);
    std::fill(std::begin(w.group), std::end(w.group), 0);
    w.pending.clear();
    w.local.assign(size_t{kernel->local_bytes} * 32, std::byte{0xcd});
    w.barrier = -1;
    w.recent = nullptr;
    fill_specials(w);
  }
}

// A synchronising instruction whose lanes have come as far as they are now. True: it ran for all of `lanes`, none has
// to wait.
bool Block::step_sync(Warp& w, const Instruction& i, uint32_t active, uint32_t lanes) {
  uint32_t here = lanes, done = 0;
  for_lanes(w.waiting, [&](int lane) { here |= uint32_t{w.pc[lane] == w.at} << lane; });
  if (i.flow == Flow::kWholeWarp) {
    if (here == kAllLanes) {
      i.exec(w, i, here);
      done = here;
    } else if (w.live != kAllLanes) {
      w.abort(i, std::countr_zero(lanes), FailureKind::kUndefined,
              "needs all 32 lanes of the warp, but some have ended or never were");
    }
  } else if (i.flow == Flow::kBarrier) {
    if (here == w.live) {
      arrive(w, i, here);
      done = here;
    }
  } else {
    for (uint32_t rest = here; rest;) {
      const int lane = std::countr_zero(rest);
      const uint32_t mask = static_cast<uint32_t>(w.raw(i, i.mask_operand, lane));
      uint32_t group = 0;
      for_lanes(rest, [&](int other) {
        group |= uint32_t{static_cast<uint32_t>(w.raw(i, i.mask_operand, other)) == mask} << other;
      });
      if (group & ~mask)
        w.abort(i, std::countr_zero(group & ~mask), FailureKind::kUndefined, "the lane is not in its own member mask");
      if ((mask & w.live & ~group) == 0) {
        i.exec(w, i, group);
        done |= group;
      }
      rest &= ~group;
    }
  }
  w.waiting = (w.waiting | lanes) & ~done;
  w.advanced = done || lanes != active;
  if (w.together && done == active) return true;
  // Lanes go separate ways: some wait here.
  if (w.together) std::fill(std::begin(w.pc), std::end(w.pc), w.at);
  for_lanes(active & ~lanes, [&](int lane) { w.pc[lane] = w.at + 1; });
  for_lanes(lanes, [&](int lane) { w.pc[lane] = w.at; });
  for_lanes(done, [&](int lane) { w.pc[lane] = w.at + 1; });
  w.together = false;
  return false;
}

void Block::run_warp(Warp& w) {
  const Instruction* code = kernel->code.data();
  bool woken = false;  // all lanes waited and were woken once; again without progress in between is a deadlock
  while (w.live && w.barrier < 0) {
    uint32_t active = w.live, pc = w.pc[0], limit = ~0u;
    if (!w.together) {
      const uint32_t runnable = w.live & ~w.waiting;
      if (!runnable) {
        if (woken) {
          const int lane = std::countr_zero(w.live);
          const Instruction& i = code[w.pc[lane]];
          uint32_t here = 0;
          for_lanes(w.live, [&](int other) { here |= uint32_t{w.pc[other] == w.pc[lane]} << other; });
          w.abort(i, lane, i.flow == Flow::kBarrier ? FailureKind::kDivergence : FailureKind::kDeadlock,
                  "lanes " + lanes_text(here) + " wait here for lanes that wait elsewhere: lanes " +
                      lanes_text(w.live & ~here));
        }
        woken = true;
        w.waiting = 0;
        continue;
      }
      pc = ~0u;
      for_lanes(runnable, [&](int lane) { pc = std::min(pc, w.pc[lane]); });
      active = 0;
      for_lanes(runnable, [&](int lane) {
        if (w.pc[lane] == pc)
          active |= 1u << lane;
        else
          limit = std::min(limit, w.pc[lane]);
      });
      if (active == w.live) {
        w.together = true;
        w.pc[0] = pc;
      }
    }
    for (bool parted = false; !parted;) {
      const Instruction& i = code[pc];
      w.at = pc;
      if (++steps > options->max_steps)
        w.abort(i, std::countr_zero(active), FailureKind::kEndless,
                "does not end within " + std::to_string(options->max_steps) + " steps of a block");
      uint32_t lanes = active;
      if (i.guard != kNoRegister) lanes &= w.predicate(i.guard) ^ (i.guard_not ? ~0u : 0);
      ++counters.warp_instructions;
      counters.thread_instructions += static_cast<uint64_t>(std::popcount(lanes));
      if (lanes) reached[pc] = 1;
      const auto part = [&](uint32_t taken, uint32_t target) {  // lanes `taken` go to target, the other active ones on
        if (w.together) std::fill(std::begin(w.pc), std::end(w.pc), pc);
        for_lanes(active & ~taken, [&](int lane) { w.pc[lane] = pc + 1; });
        for_lanes(taken, [&](int lane) { w.pc[lane] = target; });
        w.together = false;
        parted = true;
      };
      switch (i.flow) {
        case Flow::kPlain:
          if (lanes) i.exec(w, i, lanes);
          ++pc;
          break;
        case Flow::kBranch:
          if (lanes == active || lanes == 0) {
            pc = lanes ? i.target : pc + 1;
          } else {
            ++counters.divergent_branches;
            part(lanes, i.target);
          }
          break;
        case Flow::kBranchIndexed: {
          const std::vector<uint32_t>& targets = kernel->branch_tables[i.target];
          part(0, 0);
          for_lanes(lanes, [&](int lane) {
            const uint64_t index = w.raw(i, 0, lane);
            if (index >= targets.size())
              w.abort(
                  i, lane, FailureKind::kUndefined,
                  "brx.idx beyond its table: got " + std::to_string(index) + " of " + std::to_string(targets.size()));
            w.pc[lane] = targets[index];
          });
          break;
        }
        case Flow::kExit:
          w.live &= ~lanes;
          if (lanes == active) {
            parted = true;
          } else {
            active &= ~lanes;
            ++pc;
          }
          if (w.together) w.pc[0] = pc;
          break;
        case Flow::kTrap:
          if (lanes) w.abort(i, std::countr_zero(lanes), FailureKind::kTrap, "trap");
          ++pc;
          break;
        default:
          if (!lanes) {
            ++pc;
            break;
          }
          parted = !step_sync(w, i, active, lanes);
          if (w.advanced) woken = false;
          if (parted) break;
          ++pc;
          if (w.barrier >= 0) {
            w.pc[0] = pc;
            return;
          }
      }
      if (i.flow < Flow::kMaskedSync) woken = false;
      if (!parted && !w.together && pc >= limit) {
        for_lanes(active, [&](int lane) { w.pc[lane] = pc; });
        parted = true;
      }
    }
    if (!w.together && w.live && (w.live & ~w.waiting) && w.waiting == 0) {
      // All at one place again?
      const uint32_t first = w.pc[std::countr_zero(w.live)];
      bool same = true;
      for_lanes(w.live, [&](int lane) { same = same && w.pc[lane] == first; });
      if (same) {
        w.together = true;
        w.pc[0] = first;
      }
    }
  }
}

void Block::arrive(Warp& w, const Instruction& i, uint32_t lanes) {
  ++counters.barriers;
  const BarrierKind kind = static_cast<BarrierKind>(i.flags);
  const int first = kind >= BarrierKind::kPopc ? 1 : 0;
  const int lane = std::countr_zero(lanes);
  const uint64_t id = w.raw(i, first, lane);
  if (id > 15) w.abort(i, lane, FailureKind::kUndefined, "there are barriers 0 to 15: got " + std::to_string(id));
  const uint32_t threads = i.r[first + 1] == kNoRegister ? 0 : static_cast<uint32_t>(w.raw(i, first + 1, lane));
  if (threads % 32)
    w.abort(i, lane, FailureKind::kUndefined,
            "a barrier's thread count: got " + std::to_string(threads) + ", need a multiple of 32");
  Barrier& b = barriers[id];
  const uint32_t expected = threads / 32;
  if (b.arrived &&
      (b.expected != expected || (b.kind != kind && b.kind != BarrierKind::kArrive && kind != BarrierKind::kArrive))) {
    w.abort(i, lane, FailureKind::kUndefined, "warps come to one barrier with different thread counts or operations");
  }
  b.expected = expected;
  if (kind != BarrierKind::kArrive || !b.arrived) b.kind = kind;
  if (b.members >> w.index & 1) w.abort(i, lane, FailureKind::kUndefined, "a warp arrives twice at one barrier");
  b.members |= 1u << w.index;
  ++b.arrived;
  for (int k = 0; k < 32; ++k) b.known[k] = std::max(b.known[k], w.known[k]);
  b.known[w.index] = std::max(b.known[w.index], w.tick);
  if (first) {
    const uint32_t yes = (w.predicate(i.r[3]) ^ (i.predicate_not ? ~0u : 0)) & lanes;
    b.popc += static_cast<uint32_t>(std::popcount(yes));
    b.threads += static_cast<uint32_t>(std::popcount(lanes));
  }
  if (kind == BarrierKind::kArrive) {
    w.tick = ++tick;
  } else {
    b.waiters.push_back(w.index);
    w.barrier = static_cast<int>(id);
  }
}

void Block::release(int number) {
  Barrier& b = barriers[number];
  const uint32_t now = ++tick;
  for (const uint32_t index : b.waiters) {
    Warp& w = warps[index];
    const Instruction& i = kernel->code[w.at];
    std::copy(std::begin(b.known), std::end(b.known), std::begin(w.known));
    w.tick = now;
    w.barrier = -1;
    if (b.kind == BarrierKind::kPopc) for_lanes(w.live, [&](int lane) { w.set_raw(i, 0, lane, b.popc); });
    if (b.kind == BarrierKind::kAnd) w.set_predicate(i.r[0], w.live, b.popc == b.threads ? ~0u : 0);
    if (b.kind == BarrierKind::kOr) w.set_predicate(i.r[0], w.live, b.popc ? ~0u : 0);
  }
  b = {};
}

void Block::run_one(uint64_t number) {
  linear = number;
  id[0] = static_cast<uint32_t>(number % shape->grid[0]);
  id[1] = static_cast<uint32_t>(number / shape->grid[0] % shape->grid[1]);
  id[2] = static_cast<uint32_t>(number / shape->grid[0] / shape->grid[1]);
  start();
  std::vector<uint32_t> order(warps.size());
  std::iota(order.begin(), order.end(), 0);
  uint64_t random = mix(options->seed ^ mix(number));
  try {
    for (;;) {
      for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[(random = mix(random)) % k]);
      bool any = false;
      for (const uint32_t k : order) {
        any = any || (warps[k].live && warps[k].barrier < 0);
        run_warp(warps[k]);
      }
      const uint32_t living =
          static_cast<uint32_t>(std::count_if(warps.begin(), warps.end(), [](const Warp& w) { return w.live != 0; }));
      if (!living) return;
      bool released = false;
      for (int k = 0; k < 16; ++k) {
        const Barrier& b = barriers[k];
        if (b.arrived == 0 || b.arrived < (b.expected ? b.expected : living)) continue;
        released = true;
        release(k);
      }
      if (!any && !released) {
        for (Warp& w : warps) {
          if (w.live)
            w.abort(kernel->code[w.at], std::countr_zero(w.live), FailureKind::kDeadlock,
                    "waits at barrier " + std::to_string(w.barrier) + " for warps that never come");
        }
      }
    }
  } catch (const BlockEnded&) {
  }
}

Report run(const Module& module, const Kernel& kernel, const LaunchShape& shape, const void* parameters,
           DeviceMemory& memory, const Options& options) {
  const uint64_t blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  uint64_t count =
      options.threads > 0 ? static_cast<uint64_t>(options.threads) : std::max(1u, std::thread::hardware_concurrency());
  count = kernel.has_atomics ? 1 : std::min(count, blocks);
  std::vector<Block> workers(count);
  std::atomic<uint64_t> next = 0, failures = 0;
  const auto work = [&](Block& b) {
    b.module = &module;
    b.kernel = &kernel;
    b.shape = &shape;
    b.options = &options;
    b.parameters = static_cast<const std::byte*>(parameters);
    b.memory = &memory;
    b.conflicts.assign(kernel.code.size(), 0);
    b.reached.assign(kernel.code.size(), 0);
    for (uint64_t k; (k = next++) < blocks && failures < static_cast<uint64_t>(options.max_failures);) {
      const size_t before = b.failures.size();
      b.run_one(k);
      failures += b.failures.size() - before;
    }
  };
  std::vector<std::thread> threads;
  for (size_t k = 1; k < workers.size(); ++k) threads.emplace_back(work, std::ref(workers[k]));
  work(workers[0]);
  for (std::thread& t : threads) t.join();

  Report report;
  report.conflicts.assign(kernel.code.size(), 0);
  report.reached.assign(kernel.code.size(), 0);
  std::vector<std::pair<uint64_t, Failure>> all;
  for (Block& b : workers) {
    report.counters.add(b.counters);
    for (size_t k = 0; k < b.conflicts.size(); ++k) {
      report.conflicts[k] += b.conflicts[k];
      report.reached[k] |= b.reached[k];
    }
    all.insert(all.end(), b.failures.begin(), b.failures.end());
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::set<std::pair<FailureKind, int>> seen;
  for (auto& [number, f] : all) {
    if (seen.emplace(f.kind, f.ptx_line).second && report.failures.size() < static_cast<size_t>(options.max_failures))
      report.failures.push_back(std::move(f));
  }
  return report;
}

void hold(const Budget& budget, const Module& module, const Kernel& kernel, Report& report) {
  const Counters& c = report.counters;
  const auto add = [&](const char* what, uint64_t got, int64_t need, const char* relation,
                       const std::string& more = {}) {
    report.failures.push_back({FailureKind::kBudget,
                               kernel.name + ": " + what + ": got " + std::to_string(got) + ", need " + relation +
                                   std::to_string(need) + more,
                               0,
                               {}});
  };
  const auto at_most = [&](const char* what, uint64_t got, int64_t need, const std::string& more = {}) {
    if (need >= 0 && got > static_cast<uint64_t>(need)) add(what, got, need, "at most ", more);
  };
  const auto exactly = [&](const char* what, uint64_t got, int64_t need) {
    if (need >= 0 && got != static_cast<uint64_t>(need)) add(what, got, need, "");
  };
  const size_t worst = static_cast<size_t>(std::max_element(report.conflicts.begin(), report.conflicts.end()) -
                                           report.conflicts.begin());
  at_most("bank conflicts", c.bank_conflicts, budget.bank_conflicts,
          worst < kernel.code.size() ? "; most at " + module.describe(kernel, kernel.code[worst]) : "");
  at_most("global sectors", c.global_sectors, budget.global_sectors);
  at_most("warp instructions", c.warp_instructions, budget.warp_instructions);
  at_most("local memory requests", c.local_requests, budget.local_requests);
  exactly("mma", c.mma, budget.mma);
  exactly("ldmatrix", c.ldmatrix, budget.ldmatrix);
  exactly("cp.async", c.cp_async, budget.cp_async);
}

}  // namespace ingot::ptx
