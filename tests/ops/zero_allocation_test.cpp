// Type rules and reference code allocate nothing when they succeed: every stored case is run under a counting operator new.
#include <cstdlib>
#include <new>

#include "op_case.h"

namespace {
thread_local bool counting = false;
thread_local int allocations = 0;
}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
  if (counting) ++allocations;
  if (void* memory = std::malloc(bytes ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace ingot {
namespace {

TEST(ZeroAllocation, OfStoredCases) {
  int runs = 0;
  for (const char* name : {"resize.txt", "slice.txt", "pad.txt", "reduce.txt", "data_movement.txt", "indexed.txt", "sampling.txt", "recurrent.txt", "counted.txt", "rare.txt"}) {
    std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cases/ops/" + name);
    ASSERT_TRUE(file.is_open()) << name;
    for (OpCase& c : parse_op_cases(file)) {
      SCOPED_TRACE(c.name);
      if (!c.expected_error.empty()) continue;
      const auto params = params_from_fields(*parse_op_kind(c.op), c.fields);
      ASSERT_TRUE(params.ok());
      std::vector<OpInput> known;
      std::vector<ConstTensorRef> inputs;
      std::vector<TensorRef> outputs;
      std::vector<OpOutput> types(c.outputs.size());
      for (const CaseTensor& t : c.inputs) {
        known.push_back({t.type.dtype, t.type.shape, t.bytes.data(), t.present});
        inputs.push_back(t.present ? ConstTensorRef{&t.type, t.bytes.data()} : ConstTensorRef{});
      }
      for (CaseTensor& t : c.outputs) outputs.push_back({&t.type, t.bytes.data()});
      allocations = 0;
      counting = true;
      const bool ok = infer_types(*params, known, types).ok() && run_reference(*params, inputs, outputs).ok();
      counting = false;
      EXPECT_TRUE(ok);
      EXPECT_EQ(allocations, 0);
      ++runs;
    }
  }
  EXPECT_GT(runs, 200);
  // The counter does count.
  counting = true;
  allocations = 0;
  EXPECT_FALSE(infer_types(OpParams(ReshapeParams{}), {}, {}).ok());
  counting = false;
  EXPECT_GT(allocations, 0);
}

}  // namespace
}  // namespace ingot
