// run() and set_shape() allocate nothing: this program counts every operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/hand_made_plan.h"

namespace {
std::atomic<long> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (bytes == 0) bytes = 1;
  return alignment <= alignof(std::max_align_t) ? std::malloc(bytes)
                                                : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
void* counted_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* memory = counted(bytes, alignment)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(std::size_t n) { return counted_or_throw(n, 1); }
void* operator new[](std::size_t n) { return counted_or_throw(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return counted_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return counted_or_throw(n, static_cast<std::size_t>(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return counted(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return counted(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return counted(n, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return counted(n, static_cast<std::size_t>(a)); }
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace ingot {
namespace {

TEST(ZeroAllocation, TheCounterCounts) {
  const long before = allocations;
  delete new int(1);
  EXPECT_GE(allocations - before, 0);  // the compiler may leave the pair out
  std::vector<int> numbers(static_cast<size_t>(allocations % 7 + 100));
  EXPECT_GT(allocations, before);
}

TEST(ZeroAllocation, RunAndSetShapeAllocateNothing) {
  for (const auto make : {add_relu_plan, shape_chain_plan, channels_last_plan, conv_plan, late_plan, control_flow_plan, late_branch_plan}) {
    RuntimeOptions options;
    options.threads = 2;
    Expected<Engine> engine = make_engine(make().finish(), options);
    ASSERT_TRUE(engine.ok()) << engine.status().message();
    Expected<ExecutionContext> context = engine->create_context();
    ASSERT_TRUE(context.ok());
    const TensorInfo x = engine->inputs()[0];
    float* values = static_cast<float*>(context->input_buffer("x").data);
    for (const TensorInfo& output : engine->outputs()) context->output_buffer(output.name);
    const long before = allocations;
    for (int loop = 0; loop < 3; ++loop)
      for (const Shape* shape : {&x.min, &x.opt, &x.max}) {
        if (x.dtype == DataType::kF32) std::fill_n(values, x.min.elements(), static_cast<float>(loop));  // 0 elements that count, then more
        const bool set = context->set_shape("x", *shape).ok(), ran = context->run().ok(), known = context->shape("y").ok();
        if (!set || !ran || !known) FAIL();
      }
    EXPECT_EQ(allocations - before, 0);
  }
}

TEST(ZeroAllocation, ChangesOfProfileAllocateNothing) {
  Expected<Engine> engine = make_engine(with_profiles(shape_chain_plan_for(1, 1, 1), shape_chain_plan_for(2, 3, 5)), {});
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  Expected<ExecutionContext> context = engine->create_context();
  ASSERT_TRUE(context.ok());
  context->input_buffer("x");
  context->output_buffer("y");
  const Shape shapes[] = {{4, 4}, {1, 4}, {2, 4}, {1, 4}};
  const long before = allocations;
  for (int loop = 0; loop < 3; ++loop)
    for (const Shape& shape : shapes) {
      const bool set = context->set_shape("x", shape).ok(), ran = context->run().ok(), known = context->shape("y").ok();
      if (!set || !ran || !known) FAIL();
    }
  EXPECT_EQ(allocations - before, 0);
}

}  // namespace
}  // namespace ingot
