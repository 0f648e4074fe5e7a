// cuda_timing: every CUDA tactic on every problem of the files, timed by events on the device, one JSON object a line.
//   cuda_timing --device                    the device instead
//   cuda_timing [--seconds S] FILE…         problems; stops after S seconds (60)
// On the stand-in each tactic runs once, and no time is given: nothing there is a measurement.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cuda/gpu_tactic.h"
#include "runtime/device_backend.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

constexpr double kMostInterpretedProducts = 1e6;

void print(const nlohmann::ordered_json& line) {
  std::printf("%s\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

Status print_device() {
  INGOT_ASSIGN(cuda::Device* const device, cuda::Device::first());
  const cuda::Driver& cu = device->driver();
  CUdevice first = 0;
  INGOT_CUDA_TRY(cu.cuDeviceGet(&first, 0));
  size_t bytes = 0;
  int version = 0;
  INGOT_CUDA_TRY(cu.cuDeviceTotalMem(&bytes, first));
  INGOT_CUDA_TRY(cu.cuDriverGetVersion(&version));
  nlohmann::ordered_json json = {{"name", device->name()}, {"stand_in", cuda::on_stand_in()}, {"memory_bytes", bytes}, {"driver_cuda", version}};
  const std::pair<const char*, CUdevice_attribute> attributes[] = {
      {"compute_major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR}, {"compute_minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
      {"multiprocessors", CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT}, {"l2_bytes", CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
      {"shared_per_multiprocessor", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR},
      {"shared_per_block", CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN},
      {"registers_per_multiprocessor", CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR}};
  for (const auto& [name, attribute] : attributes) {
    int value = 0;
    INGOT_CUDA_TRY(cu.cuDeviceGetAttribute(&value, attribute, first));
    json[name] = value;
  }
  print(json);
  return {};
}

Status time_problem(const TestProblem& problem, const DeviceInfo& device) {
  ReferenceRun data;  // the answer is not needed, so that the reference is not run
  data.input_shapes = max_shapes(problem);
  INGOT_ASSIGN(const std::vector<OpOutput> types, output_types(problem, data.input_shapes));
  for (const OpOutput& type : types) data.output_shapes.push_back(type.shape);
  Random random(1);
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& operand = problem.inputs[i];
    data.inputs.push_back(operand.is_constant ? problem.constants[i]
                          : operand.present   ? random_values(operand.type, operand.max_shape, random)
                                              : std::vector<std::byte>());
  }
  for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(problem.params), Backend::kCuda)) {
    if (!tactic->supports(problem.problem(device))) continue;
    INGOT_ASSIGN(cuda::GpuTactic loaded, cuda::GpuTactic::load(problem, *tactic, device));
    nlohmann::ordered_json line = {{"problem", problem.text}, {"name", problem.name}, {"tactic", tactic->info().name}};
    INGOT_ASSIGN(const double us, loaded.microseconds(data));
    if (cuda::on_stand_in()) line["interpreted"] = true;
    else line["us"] = us;
    if (problem.multiply_adds() > 0) line["multiply_adds"] = problem.multiply_adds();
    print(line);
  }
  return {};
}

Status run(std::span<char*> arguments) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  double seconds = 60;
  INGOT_ASSIGN(const DeviceInfo device, find_device(Backend::kCuda));
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string argument = arguments[i];
    if (argument == "--device") return print_device();
    if (argument == "--seconds" && i + 1 < arguments.size()) {
      seconds = std::atof(arguments[++i]);
      continue;
    }
    INGOT_ASSIGN(const std::vector<TestProblem> problems, read_problems(argument));
    for (const TestProblem& problem : problems) {
      if (cuda::on_stand_in() && !(problem.multiply_adds() <= kMostInterpretedProducts)) continue;
      if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) {
        print({{"stopped", "out of time"}});
        return {};
      }
      if (Status status = time_problem(problem, device); !status.ok()) return std::move(status).with_context(problem.text);
    }
  }
  return {};
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: cuda_timing [--seconds S] (--device | FILE…)\n"), 2;
  const ingot::Status status = ingot::run({argv + 1, static_cast<size_t>(argc - 1)});
  if (!status.ok()) std::fprintf(stderr, "cuda_timing: error: %s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
