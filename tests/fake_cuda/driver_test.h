// The stand-in as tests see it: the driver API as programs load it, the control functions, a context, and a few kernels
// as PTX.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fake_cuda/fake_cuda.h"
#include "fake_cuda/driver_api.h"

namespace ingot::fake_cuda {

using namespace cuda;

// add: out[i] = in[i] + value; twice: data[i] *= 2; past: writes behind its array; shared: needs dynamic shared memory.
inline const char* const kKernels = R"(.version 8.0
.target sm_80
.address_size 64
.global .align 4 .b8 counter[4] = {5, 0, 0, 0};
.extern .shared .align 16 .b8 dynamic[];
.visible .entry add(.param .u64 out, .param .u64 in, .param .u32 value, .param .u32 n) .maxntid 256, 1, 1
{ .reg .b32 %r<6>; .reg .b64 %q<6>; .reg .pred %p;
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mad.lo.s32 %r0, %r1, %r2, %r0;
  ld.param.u32 %r3, [n]; setp.ge.u32 %p, %r0, %r3; @%p ret;
  ld.param.u64 %q0, [in]; ld.param.u64 %q1, [out]; mul.wide.u32 %q2, %r0, 4; add.s64 %q0, %q0, %q2; add.s64 %q1, %q1, %q2;
  ld.global.u32 %r4, [%q0]; ld.param.u32 %r5, [value]; add.s32 %r4, %r4, %r5; st.global.u32 [%q1], %r4; ret; }
.visible .entry twice(.param .u64 data)
{ .reg .b32 %r<4>; .reg .b64 %q<3>;
  mov.u32 %r0, %tid.x; ld.param.u64 %q0, [data]; mul.wide.u32 %q1, %r0, 4; add.s64 %q0, %q0, %q1;
  ld.global.u32 %r1, [%q0]; add.s32 %r1, %r1, %r1; st.global.u32 [%q0], %r1; ret; }
.visible .entry past(.param .u64 data, .param .u32 n)
{ .reg .b64 %q<3>; .reg .b32 %r<3>; ld.param.u64 %q0, [data]; ld.param.u32 %r0, [n]; mul.wide.u32 %q1, %r0, 4; add.s64 %q0, %q0, %q1; st.global.u32 [%q0], 1; ret; }
.visible .entry shared(.param .u64 data)
{ .reg .b32 %r<3>; .reg .b64 %q; mov.u32 %r0, dynamic; mov.u32 %r1, %dynamic_smem_size; add.s32 %r0, %r0, %r1; st.shared.u32 [%r0+-4], %r1;
  ld.param.u64 %q, [data]; st.global.u32 [%q], %r1; ret; }
)";

class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto loaded = driver_api();
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    cu = *loaded;
    control = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(control, nullptr);
    find("fake_cuda_stats", stats_function);
    find("fake_cuda_failures", failures);
    find("fake_cuda_reset", reset);
    find("fake_cuda_seed", seed);
    ASSERT_NE(stats_function, nullptr) << "the driver is a real one";
    setenv("FAKE_CUDA_QUIET", "1", 1);
    reset();
    ok(cu->primary_context_retain(&context, 0));
    ok(cu->context_set_current(context));
    ok(cu->module_load_data(&module, kKernels));
    for (auto& [name, function] : std::vector<std::pair<const char*, Function*>>{
             {"add", &add}, {"twice", &twice}, {"past", &past}, {"shared", &shared}}) {
      ok(cu->module_get_function(function, module, name));
    }
  }

  void TearDown() override {
    reset();
    if (module) ok(cu->module_unload(module));
    ok(cu->context_set_current(nullptr));
    ok(cu->primary_context_release(0));
    dlclose(control);
  }

  template <class F>
  void find(const char* name, F& function) {
    function = reinterpret_cast<F>(dlsym(control, name));
  }

  void ok(Result r, int line = __builtin_LINE()) {
    EXPECT_EQ(name_of(r), "CUDA_SUCCESS") << "line " << line << "\n" << failures();
  }
  void refused(Result r, Result need, int line = __builtin_LINE()) {
    EXPECT_EQ(name_of(r), name_of(need)) << "line " << line;
  }
  std::string name_of(Result r) {
    const char* text = nullptr;
    return cu->get_error_name(r, &text) == Result::kSuccess ? text : std::to_string(static_cast<int>(r));
  }

  FakeCudaStats stats() {
    FakeCudaStats s;
    stats_function(&s);
    return s;
  }

  DevicePointer device(size_t words, uint32_t value = 0) {
    DevicePointer p = 0;
    ok(cu->memory_allocate(&p, words * 4));
    const std::vector<uint32_t> values(words, value);
    ok(cu->copy_host_to_device(p, values.data(), words * 4));
    return p;
  }
  std::vector<uint32_t> host(DevicePointer p, size_t words) {
    std::vector<uint32_t> values(words);
    ok(cu->copy_device_to_host(values.data(), p, words * 4));
    return values;
  }
  Result launch_add(DevicePointer out, DevicePointer in, uint32_t value, uint32_t n, Stream stream = nullptr,
                    unsigned threads = 64) {
    void* parameters[] = {&out, &in, &value, &n};
    return cu->launch_kernel(add, (n + threads - 1) / threads, 1, 1, threads, 1, 1, 0, stream, parameters, nullptr);
  }
  Result launch_twice(DevicePointer data, Stream stream) {
    void* parameters[] = {&data};
    return cu->launch_kernel(twice, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  }

  const DriverApi* cu = nullptr;
  void* control = nullptr;
  void (*stats_function)(FakeCudaStats*) = nullptr;
  const char* (*failures)() = nullptr;
  void (*reset)() = nullptr;
  void (*seed)(uint64_t) = nullptr;
  Context context = nullptr;
  Module module = nullptr;
  Function add = nullptr, twice = nullptr, past = nullptr, shared = nullptr;
};

}  // namespace ingot::fake_cuda
