// Random data, reference answers and tactic answers of a problem.
#include "problem_data.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/ops/half.h"

namespace ingot {
namespace {

constexpr std::byte kGuard{0xA5};
constexpr size_t kGuardBytes = 64;

size_t bytes_of(const TensorType& type, const Shape& shape) {
  return static_cast<size_t>(shape.elements()) * element_bytes(type.dtype);
}

TensorType concrete(const TensorType& type, const Shape& shape) {
  TensorType result = type;
  result.shape = shape;
  result.layout = Layout::kLinear;
  return result;
}

void round_to_halves(std::vector<std::byte>& values) {
  for (size_t at = 0; at < values.size(); at += sizeof(float)) {
    float x;
    std::memcpy(&x, &values[at], sizeof x);
    x = f16_to_f32(f32_to_f16(x));
    std::memcpy(&values[at], &x, sizeof x);
  }
}

}  // namespace

uint64_t text_seed(std::string_view text) {
  uint64_t hash = 1469598103934665603ull;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return hash;
}

std::vector<std::byte> random_values(const TensorType& type, const Shape& shape, Random& random) {
  const auto count = static_cast<size_t>(shape.elements());
  std::vector<std::byte> bytes(count * element_bytes(type.dtype));
  const auto fill = [&]<class T>(T, auto make) {
    for (size_t i = 0; i < count; ++i) {
      const T value = static_cast<T>(make());
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  };
  const auto real = [&] {
    const float x = (random.unit() - 0.5f) * 8;
    return random.below(64) == 0 ? x * 1000 : x;
  };
  switch (type.dtype) {
    case DataType::kF32: fill(float{}, real); break;
    case DataType::kF64: fill(double{}, real); break;
    case DataType::kF16: fill(uint16_t{}, [&] { return 0x3000 + random.below(0x1400) + 0x8000 * random.below(2); }); break;
    case DataType::kBF16: fill(uint16_t{}, [&] { return 0x3e00 + random.below(0x280) + 0x8000 * random.below(2); }); break;
    case DataType::kS8: case DataType::kU8: fill(uint8_t{}, [&] { return random.below(256); }); break;
    case DataType::kBool: fill(uint8_t{}, [&] { return random.below(2); }); break;
    case DataType::kS16: case DataType::kU16: fill(uint16_t{}, [&] { return random.below(65536); }); break;
    case DataType::kS32: case DataType::kU32: fill(uint32_t{}, [&] { return random.below(100); }); break;
    case DataType::kS64: case DataType::kU64: fill(uint64_t{}, [&] { return random.below(100); }); break;
    default: fill(uint8_t{}, [&] { return random.below(8); }); break;
  }
  return bytes;
}

void bring_near(DataType dtype, std::vector<std::byte>& values) {
  if (dtype != DataType::kF32) return;
  for (size_t at = 0; at < values.size(); at += sizeof(float)) {
    float x;
    std::memcpy(&x, &values[at], sizeof x);
    x = (std::fabs(x) > 4 ? x / 1000 : x) / 8;
    std::memcpy(&values[at], &x, sizeof x);
  }
}

std::vector<Shape> max_shapes(const TestProblem& problem) {
  std::vector<Shape> shapes;
  for (const Operand& operand : problem.inputs) shapes.push_back(operand.max_shape);
  return shapes;
}

std::vector<Shape> small_shapes(const TestProblem& problem) {
  std::vector<Shape> shapes;
  for (const Operand& operand : problem.inputs) {
    Shape shape = operand.max_shape;
    for (int d = 0; d < shape.rank; ++d)
      if (operand.type.shape[d] == Shape::kDynamic) shape[d] /= 2;
    shapes.push_back(shape);
  }
  return shapes;
}

Expected<std::vector<OpOutput>> output_types(const TestProblem& problem, std::span<const Shape> input_shapes) {
  std::vector<OpInput> inputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& operand = problem.inputs[i];
    const bool constant = !problem.constants[i].empty();
    inputs.push_back({operand.type.dtype, input_shapes[i], constant ? problem.constants[i].data() : nullptr, operand.present});
  }
  std::vector<OpOutput> outputs(std::max<size_t>(problem.outputs.size(), 1));
  INGOT_TRY(infer_types(problem.params, inputs, outputs));
  return outputs;
}

Expected<ReferenceRun> run_reference(const TestProblem& problem, std::vector<Shape> input_shapes, size_t rounded) {
  ReferenceRun run;
  Random random(text_seed(problem.text) + 17);
  INGOT_ASSIGN(const std::vector<OpOutput> types, output_types(problem, input_shapes));
  run.input_shapes = std::move(input_shapes);
  std::vector<TensorType> input_types, output_types;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    const Operand& operand = problem.inputs[i];
    input_types.push_back(concrete(operand.type, run.input_shapes[i]));
    run.inputs.push_back(operand.is_constant ? problem.constants[i]
                         : operand.present   ? random_values(operand.type, run.input_shapes[i], random)
                                             : std::vector<std::byte>());
    if (problem.near && !operand.is_constant) bring_near(operand.type.dtype, run.inputs.back());
    if (i < rounded && operand.type.dtype == DataType::kF32) round_to_halves(run.inputs.back());
  }
  for (size_t i = 0; i < problem.outputs.size(); ++i) {
    run.output_shapes.push_back(types[i].shape);
    output_types.push_back(concrete(problem.outputs[i].type, types[i].shape));
    run.outputs.emplace_back(bytes_of(output_types[i], types[i].shape));
  }
  std::vector<ConstTensorRef> inputs;
  std::vector<TensorRef> outputs;
  for (size_t i = 0; i < problem.inputs.size(); ++i)
    inputs.push_back(problem.inputs[i].present ? ConstTensorRef{&input_types[i], run.inputs[i].data()} : ConstTensorRef{});
  run.produced_shapes = run.output_shapes;
  for (size_t i = 0; i < problem.outputs.size(); ++i) outputs.push_back({&output_types[i], run.outputs[i].data(), &run.produced_shapes[i]});
  INGOT_TRY(run_reference(problem.params, inputs, outputs));
  for (size_t i = 0; i < problem.outputs.size(); ++i) run.outputs[i].resize(bytes_of(output_types[i], run.produced_shapes[i]));
  return run;
}

void change_layout(const std::byte* from, std::byte* to, const Shape& shape, size_t element, Layout from_layout) {
  int64_t inner = 1;
  for (int i = 2; i < shape.rank; ++i) inner *= shape[i];
  const int64_t rows = from_layout == Layout::kLinear ? shape[1] : inner;
  const int64_t columns = from_layout == Layout::kLinear ? inner : shape[1];
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        std::memcpy(to + static_cast<size_t>((n * columns + c) * rows + r) * element,
                    from + static_cast<size_t>((n * rows + r) * columns + c) * element, element);
}

void LoadedTactic::Memory::make_tight(size_t size) {
  storage.assign((size + 15) / 8 * 8, kGuard);
  data = storage.data() + storage.size() - size;
  bytes = size;
}

void LoadedTactic::Memory::make_aligned(size_t size, size_t offset) {
  storage.assign(size + offset + 64 + kGuardBytes, kGuard);
  const auto address = reinterpret_cast<uintptr_t>(storage.data());
  data = storage.data() + (64 - address % 64) % 64 + offset;
  bytes = size;
}

Expected<LoadedTactic> LoadedTactic::load(const TestProblem& test, const Tactic& tactic, const DeviceInfo& device) {
  LoadedTactic loaded;
  loaded.problem_ = &test;
  loaded.device_ = device;
  const Problem problem = test.problem(loaded.device_);
  INGOT_ASSIGN(loaded.blob_, tactic.prepare(problem));
  loaded.blob_memory_.make_aligned(loaded.blob_.size(), 0);
  if (!loaded.blob_.empty()) std::memcpy(loaded.blob_memory_.data, loaded.blob_.data(), loaded.blob_.size());
  // As when an engine loads: without the constants' bytes.
  loaded.packed_ = tactic.packed_inputs(problem);
  std::vector<Operand> inputs = test.inputs;
  for (Operand& operand : inputs) operand.constant = {};
  const Problem bare{test.params, inputs, test.outputs, loaded.device_};
  if (const Support support = tactic.supports(bare); !support)
    return Status(StatusCode::kInternal, "supported with constants, but without them: " + std::string(support.refusal));
  INGOT_ASSIGN(loaded.kernel_, tactic.load(bare, {loaded.blob_memory_.data, loaded.blob_.size()}));
  loaded.workspace_.make_aligned(tactic.workspace_bytes(bare), 0);
  return loaded;
}

void LoadedTactic::set(const ReferenceRun& run) {
  const auto fill = [](std::vector<Memory>& memory, std::span<const Operand> operands, std::span<const Shape> shapes,
                       const std::vector<std::vector<std::byte>>* values) {
    memory.resize(operands.size());
    for (size_t i = 0; i < operands.size(); ++i) {
      const TensorType& type = operands[i].type;
      const size_t bytes = operands[i].present ? bytes_of(type, shapes[i]) : 0;
      if (values) memory[i].make_tight(bytes);
      else memory[i].make_aligned(bytes, element_bytes(type.dtype));  // bound outputs need not be aligned
      if (!values || (*values)[i].empty()) continue;
      if (type.layout == Layout::kChannelsLast)
        change_layout((*values)[i].data(), memory[i].data, shapes[i], element_bytes(type.dtype), Layout::kLinear);
      else
        std::memcpy(memory[i].data, (*values)[i].data(), memory[i].bytes);
    }
  };
  input_shapes_ = run.input_shapes;
  output_shapes_ = produced_shapes_ = run.output_shapes;
  fill(inputs_, problem_->inputs, input_shapes_, &run.inputs);
  fill(outputs_, problem_->outputs, output_shapes_, nullptr);
}

Status LoadedTactic::run(ThreadPool& pool) {
  const void* inputs[16];
  void* outputs[16];
  for (size_t i = 0; i < inputs_.size(); ++i)
    inputs[i] = problem_->inputs[i].present && !(packed_ >> i & 1) ? inputs_[i].data : nullptr;
  for (size_t i = 0; i < outputs_.size(); ++i) outputs[i] = outputs_[i].data;
  KernelArgs args;
  args.inputs = {inputs, inputs_.size()};
  args.outputs = {outputs, outputs_.size()};
  args.input_shapes = input_shapes_;
  produced_shapes_ = output_shapes_;
  args.output_shapes = produced_shapes_;
  args.produced_shapes = produced_shapes_;
  args.workspace = workspace_.data;
  args.pool = &pool;
  return kernel_->run(args);
}

Expected<std::vector<std::vector<std::byte>>> LoadedTactic::outputs() const {
  std::vector<std::vector<std::byte>> results;
  const auto intact = [](const Memory& memory) {
    for (size_t i = 0; i < kGuardBytes; ++i)
      if (memory.data[memory.bytes + i] != kGuard) return false;
    return true;
  };
  if (!intact(workspace_)) return Status(StatusCode::kInternal, "written behind the workspace");
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const TensorType& type = problem_->outputs[i].type;
    std::vector<std::byte> result(bytes_of(type, produced_shapes_[i]));
    if (!intact(outputs_[i])) return Status(StatusCode::kInternal, "written behind output " + std::to_string(i));
    if (type.layout == Layout::kChannelsLast)
      change_layout(outputs_[i].data, result.data(), output_shapes_[i], element_bytes(type.dtype), Layout::kChannelsLast);
    else if (!result.empty())
      std::memcpy(result.data(), outputs_[i].data, result.size());
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace ingot
