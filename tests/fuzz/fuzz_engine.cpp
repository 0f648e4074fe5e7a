// Hostile engine files. With libFuzzer (INGOT_FUZZ) this is a fuzz target; without, a program that spoils seed engines for
// a while: `fuzz_engine --seconds 60 --seed 1 [file.engine …]`. Build it with the asan preset.
// Two kinds of damage: bytes of the file, with checksums made right again, and fields of a decoded plan.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "fuzz/engine_target.h"
#include "fuzz/seed_plans.h"
#include "runtime/format/engine_file.h"
#include "runtime/format/plan_codec.h"

namespace {

using namespace ingot;

bool try_bytes(const std::byte* data, size_t size, bool refresh) {
  const auto memory = aligned_copy(data, size);
  if (refresh) refresh_checksums({memory.get(), size});
  return try_engine({memory.get(), size});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try_bytes(reinterpret_cast<const std::byte*>(data), size, true);
  return 0;
}

#ifndef INGOT_LIBFUZZER
namespace {

class Spoiler {
 public:
  explicit Spoiler(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t n) { return n == 0 ? 0 : random_() % n; }

  void spoil_bytes(std::vector<std::byte>& bytes) {
    for (uint64_t k = 1 + below(6); k > 0 && bytes.size() > 128; --k) {
      const size_t at = below(16) == 0 ? below(bytes.size()) : 128 + below(bytes.size() - 128);
      switch (below(6)) {
        case 0: bytes[at] = static_cast<std::byte>(below(256)); break;
        case 1: bytes[at] ^= static_cast<std::byte>(1 << below(8)); break;
        case 2: bytes[at] = std::byte{0xff}; break;
        case 3: bytes[at] = static_cast<std::byte>(std::to_integer<int>(bytes[at]) + (below(2) ? 1 : -1)); break;
        case 4: bytes[at] = bytes[below(bytes.size())]; break;
        default: {
          const size_t from = below(bytes.size()), count = std::min<size_t>({below(16), bytes.size() - at, bytes.size() - from});
          std::memmove(bytes.data() + at, bytes.data() + from, count);
        }
      }
    }
    if (below(50) == 0) bytes.resize(below(bytes.size()));
  }

  void spoil_plan(Plan& plan) {
    if (!plan.bodies.empty() && below(2) == 0) return spoil_plan(plan.bodies[below(plan.bodies.size())]);
    for (uint64_t k = 1 + below(3); k > 0; --k) {
      if (below(2) == 0 && !plan.slots.empty()) spoil_slot(plan, plan.slots[below(plan.slots.size())]);
      else if (!plan.steps.empty()) spoil_step(plan, plan.steps[below(plan.steps.size())]);
    }
  }

 private:
  int64_t number(int64_t before) {
    static constexpr int64_t kOdd[] = {0, 1, -1, 2, 3, 4, 7, 8, 64, 127, 255, 65536, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    switch (below(4)) {
      case 0: return static_cast<int64_t>(static_cast<uint64_t>(before) + 1);
      case 1: return static_cast<int64_t>(static_cast<uint64_t>(before) - 1);
      case 2: return static_cast<int64_t>(static_cast<uint64_t>(before) * 2);
      default: return kOdd[below(std::size(kOdd))];
    }
  }
  double real(double before) {
    static constexpr double kOdd[] = {0, -0.0, 1, -1, 1e-30, 1e30, 1e300, __builtin_inf(), -__builtin_inf(), __builtin_nan("")};
    return below(2) == 0 ? before * 2 : kOdd[below(std::size(kOdd))];
  }

  void spoil_slot(Plan& plan, Slot& slot) {
    switch (below(8)) {
      case 0: slot.type.dtype = static_cast<DataType>(below(kDataTypeCount)); break;
      case 1: slot.type.layout = static_cast<Layout>(below(2)); break;
      case 2: slot.home = static_cast<Slot::Home>(below(4)); break;
      case 3: slot.offset = below(2) ? below(64) : below(plan.arena_bytes / 64 + 1) * 64; break;
      case 4: {  // keep the plan consistent where one can, so that ops see odd shapes
        const int rank = slot.type.shape.rank;
        if (rank == 0) break;
        const int dim = static_cast<int>(below(static_cast<uint64_t>(rank)));
        const int64_t value = below(2) ? static_cast<int64_t>(below(6)) : number(slot.max_shape[dim]);
        slot.type.shape[dim] = below(8) ? value : -1;
        slot.max_shape[dim] = value;
        if (const auto count = checked_elements(slot.max_shape.span()); count && *count < (1 << 20))
          slot.bytes = std::max<uint64_t>(slot.bytes, static_cast<uint64_t>(*count) * element_bytes(slot.type.dtype));
        for (ProfileEntry& entry : plan.profile)
          if (&plan.slots[entry.slot] == &slot) entry.min[dim] = entry.opt[dim] = entry.max[dim] = value;
        break;
      }
      case 5: {
        const uint64_t rank = below(9);
        while (static_cast<uint64_t>(slot.type.shape.rank) > rank) --slot.type.shape.rank;
        while (static_cast<uint64_t>(slot.type.shape.rank) < rank) slot.type.shape[slot.type.shape.rank++] = 1;
        for (int i = slot.max_shape.rank; i < slot.type.shape.rank; ++i) slot.max_shape[i] = 1;
        slot.max_shape.rank = slot.type.shape.rank;
        for (ProfileEntry& entry : plan.profile)
          if (&plan.slots[entry.slot] == &slot) entry.min = entry.opt = entry.max = slot.max_shape;
        break;
      }
      case 6:
        if (slot.type.quant) slot.type.quant.reset();
        else slot.type.quant = QuantParams{{0.5f}, {0}, -1, false};
        break;
      default:
        if (!slot.type.quant || slot.type.quant->scales.empty()) break;
        if (below(2)) slot.type.quant->axis = static_cast<int>(number(slot.type.quant->axis));
        else slot.type.quant->scales[0] = static_cast<float>(real(static_cast<double>(slot.type.quant->scales[0])));
    }
  }

  void spoil_step(Plan& plan, Step& step) {
    switch (below(6)) {
      case 0: {
        auto& list = below(3) ? step.inputs : step.outputs;
        if (list.empty()) break;
        uint32_t& slot = list[below(list.size())];
        slot = below(4) ? static_cast<uint32_t>(below(plan.slots.size())) : kNoIndex;
        break;
      }
      case 1:
        if (below(2) || step.inputs.empty()) step.inputs.push_back(static_cast<uint32_t>(below(plan.slots.size())));
        else step.inputs.pop_back();
        break;
      case 2: {  // another op over the same operands
        if (below(4)) break;
        step.params = default_params(static_cast<OpKind>(below(static_cast<uint64_t>(OpKind::kCount))));
        step.tactic = TacticRegistry::builtin().for_op(kind_of(step.params)).back()->info().name;
        break;
      }
      case 3: {
        bool& flag = below(2) ? step.shape_step : step.late;
        flag = !flag;
        break;
      }
      default: {
        std::vector<Field> fields = fields_of(step.params);
        if (fields.empty()) break;
        FieldValue& value = fields[below(fields.size())].value;
        if (auto* v = std::get_if<int64_t>(&value)) *v = number(*v);
        if (auto* v = std::get_if<double>(&value)) *v = real(*v);
        if (auto* v = std::get_if<std::vector<int64_t>>(&value)) {
          if (v->empty() || below(4) == 0) v->push_back(number(1));
          else if (below(4) == 0) v->pop_back();
          else (*v)[below(v->size())] = number((*v)[0]);
        }
        if (Expected<OpParams> params = params_from_fields(kind_of(step.params), fields); params.ok()) step.params = *std::move(params);
      }
    }
  }

  std::mt19937_64 random_;
};

std::vector<std::byte> read_file(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 10;
  uint64_t seed = 1;
  std::vector<std::vector<std::byte>> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seconds" && i + 1 < argc) seconds = std::atof(argv[++i]);
    else if (argument == "--seed" && i + 1 < argc) seed = std::strtoull(argv[++i], nullptr, 10);
    else seeds.push_back(read_file(argv[i]));
  }
  std::vector<HandMadePlan> plans = seed_plans();
  for (HandMadePlan& made : plans) {
    const EngineTarget target{&made.plan()};
    Expected<std::vector<std::byte>> bytes = encode_engine({&target, 1}, "{}");
    const Status status = bytes.ok() ? make_engine(made.finish(), {}).take_status() : bytes.take_status();
    if (!status.ok()) {
      std::fprintf(stderr, "seed %zu does not load: %s\n", seeds.size(), std::string(status.message()).c_str());
      return 1;
    }
    seeds.push_back(*std::move(bytes));
  }
  std::printf("%zu seeds, %zu of them plans\n", seeds.size(), plans.size());
  Spoiler spoiler(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t tried = 0, loaded = 0;
  // A fault leaves the last input behind: set INGOT_FUZZ_KEEP to the path of a file for it.
  const char* keep = std::getenv("INGOT_FUZZ_KEEP");
  for (; std::chrono::steady_clock::now() < end; ++tried) {
    std::vector<std::byte> bytes;
    bool refresh = true;
    if (spoiler.below(2) == 0) {
      bytes = seeds[spoiler.below(seeds.size())];
      spoiler.spoil_bytes(bytes);
      refresh = spoiler.below(16) != 0;
    } else {
      HandMadePlan made = plans[spoiler.below(plans.size())];
      spoiler.spoil_plan(made.plan());
      const EngineTarget target{&made.plan()};
      Expected<std::vector<std::byte>> encoded = encode_engine({&target, 1}, "");
      if (!encoded.ok()) continue;
      bytes = *std::move(encoded);
    }
    if (keep) std::ofstream(keep, std::ios::binary).write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
    loaded += try_bytes(bytes.data(), bytes.size(), refresh) ? 1 : 0;
  }
  std::printf("%llu files tried, %llu loaded, no fault\n", static_cast<unsigned long long>(tried), static_cast<unsigned long long>(loaded));
  return 0;
}
#endif
