// The queue: operations wait for others by number; a number that is not pending is done.
#include "fake_cuda/driver_state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace ingot::fake_cuda {

Driver& driver() {
  static Driver* d = new Driver;  // never destroyed: programs may call in from their own destructors
  return *d;
}

ContextState*& current_context() {
  thread_local ContextState* current = nullptr;
  return current;
}

bool& in_host_function() {
  thread_local bool inside = false;
  return inside;
}

void Driver::read_environment() {
  const auto number = [](const char* name, uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 0) : otherwise;
  };
  model = model_of(static_cast<int>(number("FAKE_CUDA_ARCH", 80)));
  devices = model ? static_cast<int>(number("FAKE_CUDA_DEVICES", 1)) : 0;
  memory_bytes = number("FAKE_CUDA_MEMORY", uint64_t{16} << 30);
  threads = static_cast<int>(number("FAKE_CUDA_THREADS", 0));
  version = static_cast<int>(number("FAKE_CUDA_VERSION", 13000));
  quiet = number("FAKE_CUDA_QUIET", 0) != 0;
  seed = random = number("FAKE_CUDA_SEED", 1);
}

uint64_t Driver::next_random() {
  random += 0x9e3779b97f4a7c15u;
  uint64_t x = random;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

StreamState* Driver::stream(cuda::Stream handle) {
  if (reinterpret_cast<uintptr_t>(handle) <= 1) {
    StreamState& s = default_streams[current_context()];
    s.context = current_context();
    return &s;
  }
  return streams.find(handle);
}

uint64_t Driver::queue(Work work, std::vector<uint64_t> after) {
  std::erase_if(after, [&](uint64_t id) { return done(id); });
  const uint64_t id = next_operation_++;
  pending_[id] = {std::move(work), std::move(after)};
  return id;
}

// What a stream's next operation comes after: its last one, events it waits for, and the default stream's rule.
std::vector<uint64_t> Driver::order_of(StreamState& s) {
  std::vector<uint64_t> after = std::move(s.waits);
  s.waits.clear();
  after.push_back(s.last);
  const auto it = default_streams.find(s.context);
  if (it != default_streams.end()) {
    if (&it->second == &s) {
      streams.each([&](StreamState& other) {
        if (other.context == s.context && other.blocking) after.push_back(other.last);
      });
    } else if (s.blocking) {
      after.push_back(it->second.last);
    }
  }
  return after;
}

Result Driver::submit(StreamState& s, NodeKind kind, Work work, const void* function) {
  if (s.capture) {
    if (s.capture->invalidated) return Result::kStreamCaptureInvalidated;
    GraphState& graph = *s.capture->graph;
    graph.nodes.push_back({kind, function, std::move(work), s.tail});
    s.tail = {graph.nodes.size() - 1};
    return Result::kSuccess;
  }
  if (&s == &default_streams[s.context]) {
    // The default stream waits for blocking streams, which a capture cannot record.
    bool implicit = false;
    streams.each([&](StreamState& other) {
      if (other.context == s.context && other.blocking && other.capture) {
        other.capture->invalidated = true;
        implicit = true;
      }
    });
    if (implicit) return Result::kStreamCaptureImplicit;
  }
  s.last = queue(std::move(work), order_of(s));
  if (next_random() % 4 == 0) run_some();
  return Result::kSuccess;
}

void Driver::submit_graph(StreamState& s, GraphExecState& exec) {
  std::vector<uint64_t> before = order_of(s), ids;
  before.push_back(exec.last);  // launches of one graph do not overlap
  for (const GraphNodeState& node : exec.nodes) {
    std::vector<uint64_t> after = before;
    for (const size_t k : node.after) after.push_back(ids[k]);
    ids.push_back(queue(node.work, std::move(after)));
  }
  ids.insert(ids.end(), before.begin(), before.end());
  exec.last = s.last = queue([] { return Result::kSuccess; }, std::move(ids));
  if (next_random() % 4 == 0) run_some();
}

bool Driver::ready(const Operation& o) const {
  return std::all_of(o.after.begin(), o.after.end(), [&](uint64_t id) { return done(id); });
}

void Driver::run(uint64_t id) {
  const auto it = pending_.find(id);
  Work work = std::move(it->second.work);
  // It stays in the table while it runs: a host function lets other threads in, which must not take it for done.
  it->second.after = {id};
  const Result r = sticky == Result::kSuccess ? work() : sticky;
  ++clock;
  pending_.erase(id);
  if (r != Result::kSuccess && sticky == Result::kSuccess) sticky = r;
}

Result Driver::finish(const std::vector<uint64_t>& operations) {
  const auto wanted = [&] {
    return std::any_of(operations.begin(), operations.end(), [&](uint64_t id) { return !done(id); });
  };
  const bool others_too = next_random() % 2 == 0;
  while (wanted()) {
    // What the wanted operations need, and perhaps everything else.
    std::set<uint64_t> needed;
    std::vector<uint64_t> stack(operations);
    while (!stack.empty()) {
      const uint64_t id = stack.back();
      stack.pop_back();
      const auto it = pending_.find(id);
      if (it == pending_.end() || !needed.insert(id).second) continue;
      stack.insert(stack.end(), it->second.after.begin(), it->second.after.end());
    }
    std::vector<uint64_t> choices;
    for (const auto& [id, o] : pending_) {
      if (ready(o) && (others_too || needed.count(id))) choices.push_back(id);
    }
    if (choices.empty()) {  // another thread runs the host function that we wait for
      mutex.unlock();
      std::this_thread::yield();
      mutex.lock();
      continue;
    }
    run(choices[next_random() % choices.size()]);
  }
  return sticky;
}

Result Driver::finish_all() {
  std::vector<uint64_t> all;
  for (const auto& [id, o] : pending_) all.push_back(id);
  return finish(all);
}

void Driver::run_some() {
  for (uint64_t n = next_random() % 4; n; --n) {
    std::vector<uint64_t> choices;
    for (const auto& [id, o] : pending_) {
      if (ready(o)) choices.push_back(id);
    }
    if (choices.empty()) return;
    run(choices[next_random() % choices.size()]);
  }
}

Result Driver::forbid_while_capturing(StreamState* only) {
  bool forbidden = false;
  std::erase_if(captures, [](const auto& weak) { return weak.expired(); });
  for (const auto& weak : captures) {
    const auto capture = weak.lock();
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool applies = only ? only->capture == capture
                              : capture->mode == cuda::CaptureMode::kGlobal ||
                                    (capture->mode == cuda::CaptureMode::kThreadLocal && mine);
    if (!applies) continue;
    capture->invalidated = forbidden = true;
  }
  return forbidden ? Result::kStreamCaptureUnsupported : Result::kSuccess;
}

bool Driver::is_pinned(const void* host, size_t bytes) const {
  const uint64_t address = reinterpret_cast<uint64_t>(host);
  auto it = host_ranges.upper_bound(address);
  if (it == host_ranges.begin()) return false;
  --it;
  return address - it->first <= it->second && bytes <= it->second - (address - it->first);
}

Result Driver::run_kernel(const FunctionState& f, const ptx::LaunchShape& shape,
                          const std::vector<std::byte>& parameters) {
  ptx::Options options;
  options.seed = next_random();
  options.threads = threads;
  const ptx::Report report = ptx::run(*f.module->module, *f.kernel, shape, parameters.data(), memory, options);
  ++stats.launches;
  KernelUse& use = kernels[f.kernel->name];
  ++use.launches;
  use.threads = std::max(use.threads, shape.block[0] * shape.block[1] * shape.block[2]);
  use.dynamic_shared = std::max(use.dynamic_shared, shape.dynamic_shared);
  stats.warp_instructions += report.counters.warp_instructions;
  stats.bank_conflicts += report.counters.bank_conflicts;
  stats.global_sectors += report.counters.global_sectors;
  stats.mma += report.counters.mma;
  stats.ldmatrix += report.counters.ldmatrix;
  stats.cp_async += report.counters.cp_async;
  for (size_t k = 0; k < report.reached.size(); ++k) {
    const size_t line = static_cast<size_t>(f.kernel->code[k].line);
    if (!report.reached[k]) continue;
    if (use.lines.size() <= line) use.lines.resize(line + 1);
    use.lines[line] = true;
  }
  if (report.clean()) return Result::kSuccess;
  stats.failures += report.failures.size();
  failures += report.text();
  if (!quiet) std::fprintf(stderr, "fake_cuda: %s", report.text().c_str());
  switch (report.failures[0].kind) {
    case ptx::FailureKind::kOutOfBounds:
      return Result::kIllegalAddress;
    case ptx::FailureKind::kMisaligned:
      return Result::kMisalignedAddress;
    case ptx::FailureKind::kTrap:
      return Result::kAssert;
    default:
      return Result::kLaunchFailed;
  }
}

}  // namespace ingot::fake_cuda
