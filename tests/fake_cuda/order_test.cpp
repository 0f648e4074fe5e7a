// Streams, events and graphs: what has to wait does, and what forgot to wait gives a wrong result under some seed.
#include <functional>
#include <set>

#include "fake_cuda/driver_test.h"

namespace ingot::fake_cuda {
namespace {

class Order : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    for (Stream* s : {&a, &b}) ok(cu->stream_create(s, kStreamNonBlocking));
    for (Event* e : {&event, &other}) ok(cu->event_create(e, kEventDisableTiming));
    data = device(32, 1);
  }
  void TearDown() override {
    reset();
    for (Stream s : {a, b}) cu->stream_destroy(s);
    for (Event e : {event, other}) ok(cu->event_destroy(e));
    ok(cu->memory_free(data));
    DriverTest::TearDown();
  }
  void start(uint64_t s) {
    const std::vector<uint32_t> ones(32, 1);
    ok(cu->copy_host_to_device(data, ones.data(), 128));
    seed(s);
  }
  std::set<uint32_t> results(const std::function<void()>& work, int seeds = 40) {
    std::set<uint32_t> all;
    for (int s = 1; s <= seeds; ++s) {
      start(static_cast<uint64_t>(s));
      work();
      ok(cu->context_synchronize());
      all.insert(host(data, 1)[0]);
    }
    return all;
  }

  Stream a = nullptr, b = nullptr;
  Event event = nullptr, other = nullptr;
  DevicePointer data = 0;
};

TEST_F(Order, AMissingWaitShows) {
  const auto with = results([&] {
    ok(launch_add(data, data, 10, 32, a));
    ok(cu->event_record(event, a));
    ok(cu->stream_wait_event(b, event, 0));
    ok(launch_twice(data, b));
  });
  EXPECT_EQ(with, std::set<uint32_t>{22});
  const auto without = results([&] {
    ok(launch_add(data, data, 10, 32, a));
    ok(launch_twice(data, b));
  });
  EXPECT_EQ(without, (std::set<uint32_t>{12, 22}));
}

TEST_F(Order, WorkOfOneStreamKeepsItsOrder) {
  EXPECT_EQ(results([&] {
              for (int k = 0; k < 4; ++k) {
                ok(launch_add(data, data, 1, 32, a));
                ok(launch_twice(data, a));
              }
            }),
            std::set<uint32_t>{46});
}

TEST_F(Order, TheDefaultStreamWaitsForBlockingStreamsOnly) {
  Stream blocking = nullptr;
  ok(cu->stream_create(&blocking, 0));
  EXPECT_EQ(results([&] {
              ok(launch_add(data, data, 10, 32, blocking));
              ok(launch_twice(data, nullptr));
              ok(launch_add(data, data, 100, 32, blocking));
            }),
            std::set<uint32_t>{122});
  const auto apart = results([&] {
    ok(launch_add(data, data, 10, 32, a));
    ok(launch_twice(data, nullptr));
  });
  EXPECT_EQ(apart.size(), 2u);
  ok(cu->stream_destroy(blocking));
}

TEST_F(Order, PinnedMemoryIsReadLateAndPageableMemoryAtOnce) {
  std::vector<uint32_t> pageable(32, 5);
  EXPECT_EQ(results([&] {
              pageable.assign(32, 5);
              ok(cu->copy_host_to_device_async(data, pageable.data(), 128, a));
              pageable.assign(32, 6);
            }),
            std::set<uint32_t>{5});
  void* memory = nullptr;
  ok(cu->host_allocate(&memory, 128, 0));
  uint32_t* pinned = static_cast<uint32_t*>(memory);
  const auto late = results([&] {
    std::fill(pinned, pinned + 32, 5);
    ok(cu->copy_host_to_device_async(data, pinned, 128, a));
    std::fill(pinned, pinned + 32, 6);
  });
  EXPECT_TRUE(late.count(6)) << "the copy never ran after the host went on";
  // To the host: pageable memory holds the result on return, pinned memory only after a wait.
  start(3);
  ok(launch_add(data, data, 10, 32, a));
  ok(cu->copy_device_to_host_async(pageable.data(), data, 128, a));
  EXPECT_EQ(pageable[31], 11u);
  std::set<uint32_t> early;
  for (uint64_t s = 1; s <= 40; ++s) {
    start(s);
    std::fill(pinned, pinned + 32, 0);
    ok(launch_add(data, data, 10, 32, a));
    ok(cu->copy_device_to_host_async(pinned, data, 128, a));
    early.insert(pinned[0]);
    ok(cu->stream_synchronize(a));
    EXPECT_EQ(pinned[0], 11u);
  }
  EXPECT_TRUE(early.count(0));
  ok(cu->host_free(memory));
}

TEST_F(Order, FreedTooEarly) {
  DevicePointer late = 0;
  ok(cu->memory_allocate_async(&late, 128, a));
  ok(cu->set_words_async(late, 3, 32, a));
  ok(launch_add(data, late, 10, 32, a));
  ok(cu->memory_free_async(late, a));
  ok(cu->stream_synchronize(a));
  EXPECT_EQ(host(data, 1)[0], 13u);
  bool caught = false;
  for (uint64_t s = 1; s <= 40 && !caught; ++s) {
    reset();
    start(s);
    ok(cu->memory_allocate_async(&late, 128, a));
    ok(cu->set_words_async(late, 3, 32, a));
    ok(cu->stream_synchronize(a));
    // The launch may run at once; the free must have come first for the fault to show.
    ok(cu->memory_free_async(late, b));
    if (launch_add(data, late, 10, 32, a) != Result::kSuccess) break;
    caught = cu->context_synchronize() == Result::kIllegalAddress &&
             std::string(failures()).find("freed") != std::string::npos;
    if (!caught) reset();
  }
  EXPECT_TRUE(caught);
}

TEST_F(Order, HostFunctionsRunInTheirPlaceAndMayNotCallBack) {
  struct Seen {
    const DriverApi* cu;
    int calls;
    Result result;
  } seen = {cu, 0, Result::kSuccess};
  ok(launch_add(data, data, 1, 32, a));
  ok(cu->launch_host_function(
      a,
      [](void* p) {
        Seen* s = static_cast<Seen*>(p);
        ++s->calls;
        s->result = s->cu->context_synchronize();
      },
      &seen));
  ok(cu->stream_synchronize(a));
  EXPECT_EQ(seen.calls, 1);
  refused(seen.result, Result::kNotPermitted);
}

TEST_F(Order, EventsTellWhatIsDone) {
  start(2);
  ok(launch_add(data, data, 1, 32, a));
  ok(cu->event_record(event, a));
  int polls = 0;
  while (cu->event_query(event) == Result::kNotReady && polls < 1000) ++polls;
  EXPECT_LT(polls, 1000);
  float ms = 0;
  refused(cu->event_elapsed_time(&ms, event, event), Result::kInvalidHandle);  // made without timing
  Event first = nullptr, last = nullptr;
  ok(cu->event_create(&first, 0));
  ok(cu->event_create(&last, 0));
  ok(cu->event_record(first, a));
  ok(launch_add(data, data, 1, 32, a));
  ok(cu->event_record(last, a));
  ok(cu->event_synchronize(last));
  ok(cu->event_elapsed_time(&ms, first, last));
  EXPECT_GT(ms, 0);
  ok(cu->event_destroy(first));
  ok(cu->event_destroy(last));
}

TEST_F(Order, GraphsReplayForkedWork) {
  const DevicePointer left = device(32), right = device(32);
  const auto capture = [&](bool wait) {
    Graph graph = nullptr;
    ok(cu->stream_begin_capture(a, CaptureMode::kThreadLocal));
    ok(launch_add(left, data, 1, 32, a));
    ok(cu->event_record(event, a));
    ok(cu->stream_wait_event(b, event, 0));
    CaptureStatus status{};
    ok(cu->stream_is_capturing(b, &status));
    EXPECT_EQ(status, CaptureStatus::kActive);
    ok(launch_add(right, left, 100, 32, b));
    ok(cu->event_record(other, b));
    ok(launch_twice(left, wait ? b : a));
    ok(cu->event_record(other, b));
    ok(cu->stream_wait_event(a, other, 0));
    ok(launch_add(data, right, 1000, 32, a));
    ok(cu->stream_end_capture(a, &graph));
    return graph;
  };
  const Graph graph = capture(true);
  size_t nodes = 0;
  ok(cu->graph_get_nodes(graph, nullptr, &nodes));
  EXPECT_EQ(nodes, 4u);
  EXPECT_EQ(host(data, 1)[0], 1u) << "a capture runs nothing";
  GraphExec exec = nullptr;
  ok(cu->graph_instantiate(&exec, graph, 0));
  const uint64_t before = stats().launches;
  for (uint64_t s = 1; s <= 20; ++s) {
    start(s);
    ok(cu->graph_launch(exec, a));
    ok(cu->graph_launch(exec, b));  // one after the other, although the streams are two
    ok(cu->context_synchronize());
    EXPECT_EQ(host(data, 1)[0], 2203u);
    EXPECT_EQ(host(left, 1)[0], 2 * (1102u + 1));
  }
  EXPECT_EQ(stats().launches - before, 160u);
  // The same work with another shape of graph is no update; with the same shape it is.
  GraphExecUpdateInfo info;
  const Graph changed = capture(false);
  refused(cu->graph_exec_update(exec, changed, &info), Result::kGraphExecUpdateFailure);
  EXPECT_EQ(info.result, 2);
  const Graph again = capture(true);
  ok(cu->graph_exec_update(exec, again, &info));
  for (Graph g : {graph, changed, again}) ok(cu->graph_destroy(g));
  start(5);
  ok(cu->graph_launch(exec, a));
  ok(cu->graph_exec_destroy(exec));  // what was launched still runs
  ok(cu->context_synchronize());
  EXPECT_EQ(host(data, 1)[0], 1102u);
  refused(cu->graph_launch(exec, a), Result::kInvalidHandle);
  ok(cu->memory_free(left));
  ok(cu->memory_free(right));
}

TEST_F(Order, CapturedCopiesReadTheHostAtEachLaunch) {
  std::vector<uint32_t> values(32, 1);
  Graph graph = nullptr;
  GraphExec exec = nullptr;
  ok(cu->stream_begin_capture(a, CaptureMode::kThreadLocal));
  ok(cu->copy_host_to_device_async(data, values.data(), 128, a));
  ok(launch_twice(data, a));
  ok(cu->copy_device_to_host_async(values.data(), data, 128, a));
  ok(cu->stream_end_capture(a, &graph));
  ok(cu->graph_instantiate(&exec, graph, 0));
  for (int k = 0; k < 3; ++k) {
    ok(cu->graph_launch(exec, a));
    ok(cu->stream_synchronize(a));
  }
  EXPECT_EQ(values[0], 8u);
  ok(cu->graph_exec_destroy(exec));
  ok(cu->graph_destroy(graph));
}

TEST_F(Order, CaptureMisuse) {
  Graph graph = nullptr;
  DevicePointer p = 0;
  const auto begin = [&](CaptureMode mode = CaptureMode::kThreadLocal) { ok(cu->stream_begin_capture(a, mode)); };
  const auto ended = [&](Result need, int line = __builtin_LINE()) {
    refused(cu->stream_end_capture(a, &graph), need, line);
  };
  refused(cu->stream_begin_capture(nullptr, CaptureMode::kGlobal), Result::kStreamCaptureUnsupported);
  refused(cu->stream_end_capture(a, &graph), Result::kIllegalState);
  begin();
  refused(cu->stream_begin_capture(a, CaptureMode::kGlobal), Result::kIllegalState);
  refused(cu->stream_synchronize(a), Result::kStreamCaptureUnsupported);
  refused(launch_add(data, data, 1, 32, a), Result::kStreamCaptureInvalidated);
  ended(Result::kStreamCaptureInvalidated);
  begin();
  refused(cu->context_synchronize(), Result::kStreamCaptureUnsupported);
  ended(Result::kStreamCaptureInvalidated);
  begin();
  refused(cu->memory_allocate(&p, 4), Result::kStreamCaptureUnsupported);
  ended(Result::kStreamCaptureInvalidated);
  begin();
  refused(cu->memory_free(data), Result::kStreamCaptureUnsupported);
  ended(Result::kStreamCaptureInvalidated);
  begin(CaptureMode::kRelaxed);
  ok(cu->memory_allocate(&p, 4));
  ok(cu->memory_free(p));
  ended(Result::kSuccess);
  ok(cu->graph_destroy(graph));
  begin();
  refused(cu->copy_host_to_device(data, &graph, 4), Result::kStreamCaptureImplicit);
  ended(Result::kStreamCaptureInvalidated);
  // Work of another stream that is not joined again.
  begin();
  ok(launch_add(data, data, 1, 32, a));
  ok(cu->event_record(event, a));
  ok(cu->stream_wait_event(b, event, 0));
  ok(launch_twice(data, b));
  refused(cu->stream_end_capture(b, &graph), Result::kStreamCaptureUnmatched);
  ended(Result::kStreamCaptureInvalidated);
  begin();
  ok(launch_add(data, data, 1, 32, a));
  ok(cu->event_record(event, a));
  refused(cu->event_query(event), Result::kCapturedEvent);
  ended(Result::kStreamCaptureInvalidated);
  begin();
  ok(cu->event_record(event, a));
  ok(cu->stream_wait_event(b, event, 0));
  ok(launch_twice(data, b));
  ended(Result::kStreamCaptureUnjoined);
  // Waiting inside for what happened outside.
  ok(cu->event_record(event, b));
  begin();
  refused(cu->stream_wait_event(a, event, 0), Result::kStreamCaptureIsolation);
  ended(Result::kStreamCaptureInvalidated);
  // Two captures that would become one.
  begin();
  ok(cu->event_record(event, a));
  ok(cu->stream_begin_capture(b, CaptureMode::kThreadLocal));
  refused(cu->stream_wait_event(b, event, 0), Result::kStreamCaptureMerge);
  ended(Result::kStreamCaptureInvalidated);
  refused(cu->stream_end_capture(b, &graph), Result::kStreamCaptureInvalidated);
  // The default stream would have to wait for a blocking stream that is being captured.
  Stream blocking = nullptr;
  ok(cu->stream_create(&blocking, 0));
  ok(cu->stream_begin_capture(blocking, CaptureMode::kThreadLocal));
  refused(launch_twice(data, nullptr), Result::kStreamCaptureImplicit);
  refused(cu->stream_end_capture(blocking, &graph), Result::kStreamCaptureInvalidated);
  ok(cu->stream_destroy(blocking));
  ok(launch_add(data, data, 1, 32, a));
  ok(cu->stream_synchronize(a));
}

TEST_F(Order, LaunchesNeitherAllocateNorSynchronise) {
  ok(cu->context_synchronize());
  const FakeCudaStats before = stats();
  for (int k = 0; k < 10; ++k) ok(launch_add(data, data, 1, 32, a));
  EXPECT_EQ(stats().synchronisations, before.synchronisations);
  EXPECT_EQ(stats().device_allocations, before.device_allocations);
  ok(cu->stream_synchronize(a));
  EXPECT_EQ(stats().synchronisations, before.synchronisations + 1);
}

}  // namespace
}  // namespace ingot::fake_cuda
