// One thing after another: memory, modules, launches, and their misuse.
#include <cstring>

#include "fake_cuda/driver_test.h"

namespace ingot::fake_cuda {
namespace {

class Launch : public DriverTest {};

TEST_F(Launch, ComputesAndCounts) {
  const FakeCudaStats before = stats();
  const DevicePointer in = device(100, 7), out = device(100);
  ok(launch_add(out, in, 5, 100));
  EXPECT_EQ(host(out, 100), std::vector<uint32_t>(100, 12));
  EXPECT_EQ(stats().device_allocations - before.device_allocations, 2u);
  EXPECT_EQ(stats().bytes_in_use - before.bytes_in_use, 800u);
  EXPECT_EQ(stats().launches, 1u);
  EXPECT_GT(stats().warp_instructions, 50u);
  ok(cu->memory_free(in));
  ok(cu->memory_free(out));
  EXPECT_EQ(stats().device_frees, 2u);
  EXPECT_EQ(stats().failures, 0u);
  DevicePointer counter = 0;
  size_t bytes = 0;
  ok(cu->module_get_global(&counter, &bytes, module, "counter"));
  EXPECT_EQ(bytes, 4u);
  EXPECT_EQ(host(counter, 1)[0], 5u);
}

TEST_F(Launch, RefusesBadShapes) {
  const DevicePointer data = device(64);
  uint32_t value = 1, n = 64;
  DevicePointer out = data, in = data;
  void* parameters[] = {&out, &in, &value, &n};
  const auto launch = [&](unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned bytes = 0, void** p = nullptr, Function f = nullptr) {
    return cu->launch_kernel(f ? f : add, gx, gy, gz, bx, by, bz, bytes, nullptr, p ? p : parameters, nullptr);
  };
  ok(launch(1, 1, 1, 256, 1, 1));
  refused(launch(0, 1, 1, 32, 1, 1), Result::kInvalidValue);
  refused(launch(1, 65536, 1, 32, 1, 1), Result::kInvalidValue);
  refused(launch(1, 1, 65536, 32, 1, 1), Result::kInvalidValue);
  refused(launch(1, 1, 1, 0, 1, 1), Result::kInvalidValue);
  refused(launch(1, 1, 1, 257, 1, 1), Result::kInvalidValue);  // .maxntid
  void* one[] = {&out};
  refused(launch(1, 1, 1, 1, 1, 65, 0, one, twice), Result::kInvalidValue);
  refused(launch(1, 1, 1, 32, 33, 1, 0, one, twice), Result::kInvalidValue);
  void* with_null[] = {&out, &in, nullptr, &n};
  refused(launch(1, 1, 1, 32, 1, 1, 0, with_null), Result::kInvalidValue);
  refused(cu->launch_kernel(add, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr), Result::kInvalidValue);
  refused(cu->launch_kernel(nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr), Result::kInvalidHandle);
  // All parameters in one buffer: its size must be that of the kernel's.
  struct {
    DevicePointer out, in;
    uint32_t value, n;
  } packed = {data, data, 1, 64};
  size_t size = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, nullptr};
  ok(cu->launch_kernel(add, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
  size = 20;
  refused(cu->launch_kernel(add, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra), Result::kInvalidValue);
  LaunchAttribute attribute{};
  attribute.id = LaunchAttributeId::kClusterSize;
  const uint32_t cluster[3] = {2, 1, 1};
  std::memcpy(attribute.value, cluster, sizeof cluster);
  LaunchConfig config = {1, 1, 1, 64, 1, 1, 0, nullptr, &attribute, 1};
  refused(cu->launch_kernel_ex(&config, add, parameters, nullptr), Result::kNotSupported);
  config.attribute_count = 0;
  ok(cu->launch_kernel_ex(&config, add, parameters, nullptr));
  ok(cu->memory_free(data));
}

TEST_F(Launch, DynamicSharedMemoryNeedsItsAttribute) {
  const DevicePointer data = device(1);
  DevicePointer p = data;
  void* parameters[] = {&p};
  const auto launch = [&](unsigned bytes) {
    return cu->launch_kernel(shared, 1, 1, 1, 1, 1, 1, bytes, nullptr, parameters, nullptr);
  };
  ok(launch(48 << 10));
  refused(launch((48 << 10) + 4), Result::kInvalidValue);
  refused(cu->function_set_attribute(shared, FunctionAttribute::kMaxDynamicSharedBytes, (163 << 10) + 1),
          Result::kInvalidValue);
  ok(cu->function_set_attribute(shared, FunctionAttribute::kMaxDynamicSharedBytes, 100 << 10));
  ok(launch(100 << 10));
  refused(launch((100 << 10) + 4), Result::kInvalidValue);
  EXPECT_EQ(host(data, 1)[0], 100u << 10);
  int blocks = 0;
  ok(cu->occupancy_max_active_blocks(&blocks, shared, 256, 100 << 10));
  EXPECT_EQ(blocks, 1);
  ok(cu->occupancy_max_active_blocks(&blocks, add, 256, 0));
  EXPECT_EQ(blocks, 1);  // of 255 registers a thread, as its bounds would allow
  ok(cu->memory_free(data));
}

TEST_F(Launch, FailedKernelsSpoilTheContext) {
  const DevicePointer data = device(8);
  DevicePointer p = data;
  uint32_t n = 8;
  void* parameters[] = {&p, &n};
  ok(cu->launch_kernel(past, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  refused(cu->context_synchronize(), Result::kIllegalAddress);
  refused(cu->context_synchronize(), Result::kIllegalAddress);
  DevicePointer more = 0;
  refused(cu->memory_allocate(&more, 4), Result::kIllegalAddress);
  EXPECT_NE(std::string(failures()).find("past: global write out of bounds: address"), std::string::npos) << failures();
  EXPECT_EQ(stats().failures, 1u);
  reset();
  ok(cu->memory_free(data));
}

TEST_F(Launch, MemoryMisuse) {
  DevicePointer p = 0;
  refused(cu->memory_allocate(&p, 0), Result::kInvalidValue);
  refused(cu->memory_allocate(&p, size_t{1} << 50), Result::kOutOfMemory);
  refused(cu->memory_free(12345), Result::kInvalidValue);
  ok(cu->memory_free(0));
  const DevicePointer data = device(16);
  refused(cu->memory_free(data + 4), Result::kInvalidValue);
  std::vector<uint32_t> values(32);
  refused(cu->copy_host_to_device(data, values.data(), 65), Result::kInvalidValue);
  refused(cu->copy_device_to_host(values.data(), data + 4, 64), Result::kInvalidValue);
  refused(cu->copy_device_to_host(values.data(), reinterpret_cast<DevicePointer>(values.data()), 4),
          Result::kInvalidValue);
  ok(cu->memory_free(data));
  refused(cu->memory_free(data), Result::kInvalidValue);
  refused(cu->copy_host_to_device(data, values.data(), 4), Result::kInvalidValue);
  void* pinned = nullptr;
  ok(cu->host_allocate(&pinned, 128, 0));
  MemoryType type{};
  ok(cu->pointer_get_attribute(&type, PointerAttribute::kMemoryType, reinterpret_cast<DevicePointer>(pinned)));
  EXPECT_EQ(type, MemoryType::kHost);
  refused(cu->host_free(static_cast<char*>(pinned) + 8), Result::kInvalidValue);
  ok(cu->host_free(pinned));
  refused(cu->host_free(pinned), Result::kInvalidValue);
  refused(cu->host_unregister(values.data()), Result::kHostMemoryNotRegistered);
  ok(cu->host_register(values.data(), 128, 0));
  refused(cu->host_register(values.data(), 128, 0), Result::kHostMemoryAlreadyRegistered);
  ok(cu->host_unregister(values.data()));
}

TEST_F(Launch, HandlesAndContexts) {
  Stream stream = nullptr;
  Event event = nullptr;
  ok(cu->stream_create(&stream, 0));
  ok(cu->event_create(&event, 0));
  ok(cu->stream_destroy(stream));
  ok(cu->event_destroy(event));
  refused(cu->stream_synchronize(stream), Result::kInvalidHandle);
  refused(cu->stream_destroy(stream), Result::kInvalidHandle);
  refused(cu->event_record(event, nullptr), Result::kInvalidHandle);
  refused(cu->event_synchronize(event), Result::kInvalidHandle);
  Function none = nullptr;
  refused(cu->module_get_function(&none, module, "nothing"), Result::kNotFound);
  refused(cu->graph_launch(nullptr, nullptr), Result::kInvalidHandle);
  ok(cu->context_set_current(nullptr));
  DevicePointer p = 0;
  refused(cu->memory_allocate(&p, 4), Result::kInvalidContext);
  refused(cu->context_set_current(reinterpret_cast<Context>(&p)), Result::kInvalidContext);
  ok(cu->context_set_current(context));
  int value = 0;
  ok(cu->device_get_attribute(&value, DeviceAttribute::kComputeMajor, 0));
  EXPECT_EQ(value, 8);
  refused(cu->device_get_attribute(&value, DeviceAttribute::kComputeMajor, 1), Result::kInvalidDevice);
  Device device = 0;
  refused(cu->device_get(&device, 1), Result::kInvalidDevice);
}

TEST_F(Launch, Images) {
  Module m = nullptr;
  char log[300] = "";
  JitOption options[] = {JitOption::kErrorLog, JitOption::kErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const std::string unknown =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n.reg .b32 %r<2>;\n  frobnicate.u32 %r0, "
      "%r1;\n}";
  refused(cu->module_load_data_ex(&m, unknown.c_str(), 2, options, values), Result::kInvalidPtx);
  EXPECT_NE(std::string(log).find("line 6: opcode not known: got 'frobnicate'"), std::string::npos) << log;
  refused(cu->module_load_data(&m, ".version 8.0\n.target sm_90\n.address_size 64\n"), Result::kNoBinaryForGpu);
  refused(cu->module_load_data(&m, "\177ELF and so on"), Result::kNoBinaryForGpu);
  // A fat binary by hand: a file header of 16 bytes, then an entry with a header of 80 bytes and the text.
  std::string text = kKernels;
  text.resize((text.size() + 8) / 8 * 8, '\0');
  std::vector<unsigned char> fat(16 + 80 + text.size());
  const auto put = [&](size_t at, auto value) { std::memcpy(fat.data() + at, &value, sizeof value); };
  put(0, uint32_t{0xba55ed50});
  put(4, uint16_t{1});
  put(6, uint16_t{16});
  put(8, uint64_t{80 + text.size()});
  put(16, uint16_t{1});
  put(20, uint32_t{80});
  put(24, uint64_t{text.size()});
  put(44, uint32_t{80});
  std::memcpy(fat.data() + 96, text.data(), text.size());
  ok(cu->module_load_data(&m, fat.data()));
  Function f = nullptr;
  ok(cu->module_get_function(&f, m, "add"));
  ok(cu->module_unload(m));
  refused(cu->module_unload(m), Result::kInvalidHandle);
  refused(cu->function_set_attribute(f, FunctionAttribute::kMaxDynamicSharedBytes, 1), Result::kInvalidHandle);
  put(32, uint32_t{100});  // compressed, in no way that is known
  refused(cu->module_load_data_ex(&m, fat.data(), 2, options, values), Result::kNoBinaryForGpu);
  EXPECT_NE(std::string(log).find("compressed"), std::string::npos);
}

TEST_F(Launch, OtherFunctionsAreNotSupported) {
  int (*other)() = nullptr;
  find("cuTexObjectCreate", other);
  if (!other) GTEST_SKIP() << "the toolkit has no stub library to take the names from";
  EXPECT_EQ(other(), 801);
  Result (*address)(const char*, void**, int, uint64_t, int*) = nullptr;
  find("cuGetProcAddress_v2", address);
  void* function = nullptr;
  int status = 7;
  ok(address("cuMemAlloc", &function, 12000, 0, &status));
  EXPECT_EQ(function, reinterpret_cast<void*>(cu->memory_allocate));
  EXPECT_EQ(status, 0);
  refused(address("cuNothing", &function, 12000, 0, &status), Result::kNotFound);
}

}  // namespace
}  // namespace ingot::fake_cuda
