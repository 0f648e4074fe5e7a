// State behind the stand-in: handles, pending work, captures. Work is queued and runs as late and in as odd an order as
// streams, events and synchronisation allow, picked by the seed: a wait that is missing then shows as a wrong result.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fake_cuda/device_model.h"
#include "fake_cuda/fake_cuda.h"
#include "ptx/interpreter.h"
#include "ptx/parser.h"

namespace ingot::fake_cuda {

using cuda::Result;
using Work = std::function<Result()>;

enum class NodeKind : uint8_t { kKernel, kCopy, kFill, kHost, kEmpty };

struct ContextState {
  int device = 0, retained = 0;
};

struct ModuleState {
  ContextState* context = nullptr;
  std::string text;
  std::unique_ptr<ptx::Module> module;
};

struct FunctionState {
  ModuleState* module = nullptr;
  const ptx::Kernel* kernel = nullptr;
  int dynamic_limit = 0;  // bytes allowed by cuFuncSetAttribute
};

struct GraphNodeState {
  NodeKind kind = NodeKind::kEmpty;
  const void* function = nullptr;
  Work work;
  std::vector<size_t> after;  // indices of nodes
};

struct GraphState {
  std::vector<GraphNodeState> nodes;
};

struct GraphExecState {
  std::vector<GraphNodeState> nodes;
  uint64_t last = 0;  // operation that ends its latest launch
};

struct StreamState;
struct Capture {
  std::unique_ptr<GraphState> graph;
  StreamState* origin = nullptr;
  cuda::CaptureMode mode = cuda::CaptureMode::kGlobal;
  std::thread::id thread;
  bool invalidated = false;
};

struct StreamState {
  ContextState* context = nullptr;
  bool blocking = true;  // keeps order with the default stream
  uint64_t last = 0;     // its latest operation
  std::vector<uint64_t> waits;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> tail;  // nodes that the next one of a capture comes after
};

struct EventState {
  ContextState* context = nullptr;
  bool timing = true, recorded = false;
  uint64_t operation = 0;
  std::shared_ptr<uint64_t> stamp;
  std::shared_ptr<Capture> capture;
  std::vector<size_t> nodes;
};

// Living objects of one kind; a handle is an object's address.
template <class T, class Handle>
class Handles {
 public:
  Handle add(std::unique_ptr<T> object) {
    T* p = object.get();
    live_[p] = std::move(object);
    return reinterpret_cast<Handle>(p);
  }
  T* find(Handle handle) const {
    const auto it = live_.find(reinterpret_cast<T*>(handle));
    return it == live_.end() ? nullptr : it->second.get();
  }
  bool remove(Handle handle) { return live_.erase(reinterpret_cast<T*>(handle)) != 0; }
  template <class F>
  void each(F f) const {
    for (const auto& [p, object] : live_) f(*object);
  }

 private:
  std::unordered_map<const T*, std::unique_ptr<T>> live_;
};

struct KernelUse {
  uint64_t launches = 0;
  uint32_t threads = 0, dynamic_shared = 0;  // of the largest launch
  std::vector<bool> lines;                   // of the PTX, by number: whether some lane ran it
};

struct Driver {
  std::recursive_mutex mutex;
  bool initialized = false;
  const DeviceModel* model = nullptr;
  int devices = 1, threads = 0, version = 13000;  // of CUDA, as 13000 for 13.0
  uint64_t memory_bytes = 0, seed = 1, random = 1, clock = 0;
  bool quiet = false;
  Result sticky = Result::kSuccess;  // a failed kernel: every later call returns it, as the real context does
  FakeCudaStats stats{};
  std::string failures;
  std::map<std::string, KernelUse> kernels;  // that ran
  std::string kernels_text, lines_text;
  ptx::DeviceMemory memory;
  std::map<uint64_t, uint64_t> host_ranges;  // pinned memory: address to size
  std::vector<std::unique_ptr<ContextState>> contexts;
  std::map<const ContextState*, StreamState> default_streams;
  Handles<ModuleState, cuda::Module> modules;
  Handles<FunctionState, cuda::Function> functions;
  Handles<StreamState, cuda::Stream> streams;
  Handles<EventState, cuda::Event> events;
  Handles<GraphState, cuda::Graph> graphs;
  Handles<GraphExecState, cuda::GraphExec> execs;
  std::vector<std::weak_ptr<Capture>> captures;

  void read_environment();
  uint64_t next_random();
  // Streams; null for a handle that is none. Handle 0 and 1 mean the default stream of the current context.
  StreamState* stream(cuda::Stream handle);

  // Queues work behind what its stream has, or adds a node to its capture.
  Result submit(StreamState& s, NodeKind kind, Work work, const void* function = nullptr);
  // Queues `nodes` as one graph launch.
  void submit_graph(StreamState& s, GraphExecState& exec);
  // Runs pending work until the operations are done; what else runs meanwhile, and in which order, is the seed's
  // choice.
  Result finish(const std::vector<uint64_t>& operations);
  Result finish_all();
  bool done(uint64_t operation) const { return pending_.count(operation) == 0; }
  void run_some();  // as a device does while the host does other things

  // Calls that may not be made while a stream is being captured; the captures are spoilt.
  Result forbid_while_capturing(StreamState* only = nullptr);

  bool is_pinned(const void* host, size_t bytes) const;
  Result run_kernel(const FunctionState& f, const ptx::LaunchShape& shape, const std::vector<std::byte>& parameters);

 private:
  struct Operation {
    Work work;
    std::vector<uint64_t> after;
  };
  uint64_t queue(Work work, std::vector<uint64_t> after);
  std::vector<uint64_t> order_of(StreamState& s);
  bool ready(const Operation& o) const;
  void run(uint64_t id);
  std::map<uint64_t, Operation> pending_;
  uint64_t next_operation_ = 1;
};

Driver& driver();
ContextState*& current_context();
bool& in_host_function();

// The frame of every call: not from a host function, initialised, under the lock, and only while no kernel has failed.
template <class F>
Result call(F f, bool needs_context = true) {
  if (in_host_function()) return Result::kNotPermitted;
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (!d.initialized) return Result::kNotInitialized;
  if (d.sticky != Result::kSuccess) return d.sticky;
  if (needs_context && !current_context()) return Result::kInvalidContext;
  return f(d);
}

#define FAKE_CUDA_API extern "C" __attribute__((visibility("default")))

}  // namespace ingot::fake_cuda
