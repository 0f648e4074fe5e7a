// Streams, events and captures.
#include <algorithm>
#include <set>

#include "fake_cuda/driver_state.h"

namespace ingot::fake_cuda {
namespace {

using cuda::Event;
using cuda::Stream;

template <class F>
Result with_stream(Stream stream, F f) {
  return call([&](Driver& d) {
    StreamState* s = d.stream(stream);
    return s ? f(d, *s) : Result::kInvalidHandle;
  });
}

Result create(Stream* stream, unsigned flags) {
  return call([&](Driver& d) {
    if (!stream || flags > cuda::kStreamNonBlocking) return Result::kInvalidValue;
    auto s = std::make_unique<StreamState>();
    s->context = current_context();
    s->blocking = flags == 0;
    *stream = d.streams.add(std::move(s));
    return Result::kSuccess;
  });
}

// True when every node of the graph leads to one of `ends`.
bool all_joined(const GraphState& graph, const std::vector<size_t>& ends) {
  std::set<size_t> reached;
  std::vector<size_t> stack(ends);
  while (!stack.empty()) {
    const size_t k = stack.back();
    stack.pop_back();
    if (!reached.insert(k).second) continue;
    stack.insert(stack.end(), graph.nodes[k].after.begin(), graph.nodes[k].after.end());
  }
  return reached.size() == graph.nodes.size();
}

void leave(Driver& d, const std::shared_ptr<Capture>& capture) {
  const auto clear = [&](StreamState& s) {
    if (s.capture != capture) return;
    s.capture.reset();
    s.tail.clear();
  };
  d.streams.each(clear);
  d.events.each([&](EventState& e) {
    if (e.capture != capture) return;
    e.capture.reset();
    e.nodes.clear();
    e.recorded = false;
    e.operation = 0;
  });
}

}  // namespace

FAKE_CUDA_API Result cuStreamCreate(Stream* stream, unsigned flags) { return create(stream, flags); }
FAKE_CUDA_API Result cuStreamCreateWithPriority(Stream* stream, unsigned flags, int) { return create(stream, flags); }

FAKE_CUDA_API Result cuStreamDestroy_v2(Stream stream) {
  return call([&](Driver& d) {
    StreamState* s = d.streams.find(stream);
    if (!s) return Result::kInvalidHandle;
    if (s->capture) {
      s->capture->invalidated = true;
      leave(d, std::shared_ptr<Capture>(s->capture));
    }
    d.streams.remove(stream);  // its work still runs
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuStreamSynchronize(Stream stream) {
  return with_stream(stream, [](Driver& d, StreamState& s) {
    if (const Result r = d.forbid_while_capturing(&s); r != Result::kSuccess) return r;
    ++d.stats.synchronisations;
    std::vector<uint64_t> what = s.waits;
    what.push_back(s.last);
    return d.finish(what);
  });
}

FAKE_CUDA_API Result cuStreamQuery(Stream stream) {
  return with_stream(stream, [](Driver& d, StreamState& s) {
    if (const Result r = d.forbid_while_capturing(&s); r != Result::kSuccess) return r;
    d.run_some();
    return d.sticky != Result::kSuccess ? d.sticky : d.done(s.last) ? Result::kSuccess : Result::kNotReady;
  });
}

FAKE_CUDA_API Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  return with_stream(stream, [&](Driver& d, StreamState& s) {
    EventState* e = d.events.find(event);
    if (!e) return Result::kInvalidHandle;
    if (e->capture) {
      if (!s.capture) {
        if (&s == d.stream(nullptr)) return Result::kStreamCaptureUnsupported;
        s.capture = e->capture;
        s.tail.clear();
      } else if (s.capture != e->capture) {
        s.capture->invalidated = e->capture->invalidated = true;
        return Result::kStreamCaptureMerge;
      }
      for (const size_t node : e->nodes) {
        if (std::find(s.tail.begin(), s.tail.end(), node) == s.tail.end()) s.tail.push_back(node);
      }
      return s.capture->invalidated ? Result::kStreamCaptureInvalidated : Result::kSuccess;
    }
    if (!e->recorded) return Result::kSuccess;
    if (s.capture) {
      s.capture->invalidated = true;
      return Result::kStreamCaptureIsolation;
    }
    s.waits.push_back(e->operation);
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuStreamBeginCapture_v2(Stream stream, cuda::CaptureMode mode) {
  return with_stream(stream, [&](Driver& d, StreamState& s) {
    if (&s == d.stream(nullptr)) return Result::kStreamCaptureUnsupported;
    if (s.capture) return Result::kIllegalState;
    s.capture = std::make_shared<Capture>();
    s.capture->graph = std::make_unique<GraphState>();
    s.capture->origin = &s;
    s.capture->mode = mode;
    s.capture->thread = std::this_thread::get_id();
    s.tail.clear();
    d.captures.push_back(s.capture);
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuStreamEndCapture(Stream stream, cuda::Graph* graph) {
  return with_stream(stream, [&](Driver& d, StreamState& s) {
    if (!graph) return Result::kInvalidValue;
    *graph = nullptr;
    if (!s.capture) return Result::kIllegalState;
    const std::shared_ptr<Capture> capture = s.capture;
    if (capture->mode != cuda::CaptureMode::kRelaxed && capture->thread != std::this_thread::get_id())
      return Result::kStreamCaptureWrongThread;
    if (capture->origin != &s) {
      capture->invalidated = true;
      return Result::kStreamCaptureUnmatched;
    }
    const bool joined = all_joined(*capture->graph, s.tail);
    leave(d, capture);
    if (capture->invalidated) return Result::kStreamCaptureInvalidated;
    if (!joined) return Result::kStreamCaptureUnjoined;
    *graph = d.graphs.add(std::move(capture->graph));
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuStreamIsCapturing(Stream stream, cuda::CaptureStatus* status) {
  return with_stream(stream, [&](Driver&, StreamState& s) {
    if (!status) return Result::kInvalidValue;
    *status = !s.capture               ? cuda::CaptureStatus::kNone
              : s.capture->invalidated ? cuda::CaptureStatus::kInvalidated
                                       : cuda::CaptureStatus::kActive;
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuLaunchHostFunc(Stream stream, cuda::HostFunction function, void* user_data) {
  return with_stream(stream, [&](Driver& d, StreamState& s) {
    if (!function) return Result::kInvalidValue;
    return d.submit(s, NodeKind::kHost, [&d, function, user_data] {
      in_host_function() = true;
      d.mutex.unlock();
      function(user_data);
      d.mutex.lock();
      in_host_function() = false;
      return Result::kSuccess;
    });
  });
}

FAKE_CUDA_API Result cuEventCreate(Event* event, unsigned flags) {
  return call([&](Driver& d) {
    if (!event || flags > 7) return Result::kInvalidValue;
    auto e = std::make_unique<EventState>();
    e->context = current_context();
    e->timing = !(flags & cuda::kEventDisableTiming);
    *event = d.events.add(std::move(e));
    return Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuEventDestroy_v2(Event event) {
  return call([&](Driver& d) { return d.events.remove(event) ? Result::kSuccess : Result::kInvalidHandle; });
}

FAKE_CUDA_API Result cuEventRecord(Event event, Stream stream) {
  return with_stream(stream, [&](Driver& d, StreamState& s) {
    EventState* e = d.events.find(event);
    if (!e) return Result::kInvalidHandle;
    if (e->context != s.context) return Result::kInvalidHandle;
    ++d.stats.event_records;
    if (s.capture) {
      if (s.capture->invalidated) return Result::kStreamCaptureInvalidated;
      e->capture = s.capture;
      e->nodes = s.tail;
      return Result::kSuccess;
    }
    e->capture.reset();
    e->stamp = std::make_shared<uint64_t>(0);
    const Result r = d.submit(s, NodeKind::kEmpty, [&d, stamp = e->stamp] {
      *stamp = d.clock;
      return Result::kSuccess;
    });
    e->operation = s.last;
    e->recorded = true;
    return r;
  });
}

FAKE_CUDA_API Result cuEventSynchronize(Event event) {
  return call([&](Driver& d) {
    EventState* e = d.events.find(event);
    if (!e) return Result::kInvalidHandle;
    if (e->capture) {
      e->capture->invalidated = true;
      return Result::kCapturedEvent;
    }
    ++d.stats.synchronisations;
    return e->recorded ? d.finish({e->operation}) : Result::kSuccess;
  });
}

FAKE_CUDA_API Result cuEventQuery(Event event) {
  return call([&](Driver& d) {
    EventState* e = d.events.find(event);
    if (!e) return Result::kInvalidHandle;
    if (e->capture) {
      e->capture->invalidated = true;
      return Result::kCapturedEvent;
    }
    if (const Result r = d.forbid_while_capturing(); r != Result::kSuccess) return r;
    d.run_some();
    return d.sticky != Result::kSuccess           ? d.sticky
           : !e->recorded || d.done(e->operation) ? Result::kSuccess
                                                  : Result::kNotReady;
  });
}

// The stand-in's time is the number of operations that ran: good for order, no measure of speed.
FAKE_CUDA_API Result cuEventElapsedTime(float* milliseconds, Event start, Event end) {
  return call([&](Driver& d) {
    const EventState *a = d.events.find(start), *b = d.events.find(end);
    if (!milliseconds) return Result::kInvalidValue;
    if (!a || !b || !a->recorded || !b->recorded || !a->timing || !b->timing) return Result::kInvalidHandle;
    if (!d.done(a->operation) || !d.done(b->operation)) return Result::kNotReady;
    *milliseconds = static_cast<float>(static_cast<double>(*b->stamp) - static_cast<double>(*a->stamp));
    return Result::kSuccess;
  });
}

// What the name stands for in the headers of CUDA 13.
FAKE_CUDA_API Result cuEventElapsedTime_v2(float* milliseconds, Event start, Event end) { return cuEventElapsedTime(milliseconds, start, end); }

}  // namespace ingot::fake_cuda
