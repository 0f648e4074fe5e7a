// Evaluation walks the list; a smaller program cuts at a value, or lets a node's input stand for its result.
#include "e2e/random_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "builder/graph/graph_editor.h"

namespace ingot::random_graphs {
namespace {

uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Ops that only move or compare elements: a float passes through unrounded.
bool is_exact(const OpParams& params) {
  switch (kind_of(params)) {
    case OpKind::kConv: case OpKind::kConvTranspose: case OpKind::kMatMul: case OpKind::kBatchNorm: case OpKind::kLayerNorm:
    case OpKind::kInstanceNorm: case OpKind::kSoftmax: case OpKind::kReduce: case OpKind::kAttention: case OpKind::kCumulate:
    case OpKind::kRecurrent: case OpKind::kResize: case OpKind::kGridSample: case OpKind::kRoiAlign: case OpKind::kCol2Im:
    case OpKind::kQuantizeLinear: case OpKind::kDequantizeLinear: case OpKind::kScatterElements: case OpKind::kScatterND: return false;
    case OpKind::kPool: return std::get<PoolParams>(params).function == PoolFunction::kMax;
    case OpKind::kUnary: {
      const auto f = std::get<UnaryParams>(params).function;
      return f == UnaryFunction::kIdentity || f == UnaryFunction::kRelu || f == UnaryFunction::kAbs || f == UnaryFunction::kNeg ||
             f == UnaryFunction::kClip || (f >= UnaryFunction::kFloor && f <= UnaryFunction::kSign) || f >= UnaryFunction::kNot;
    }
    case OpKind::kBinary: {
      const auto f = std::get<BinaryParams>(params).function;
      return f == BinaryFunction::kMin || f == BinaryFunction::kMax || f >= BinaryFunction::kEqual;
    }
    default: return true;
  }
}

// The tensor with errors, if it is one of floats.
Tensor disturbed(const Tensor& tensor, const Noise& noise, uint64_t salt, double absolute = 0) {
  if (!tensor.data || tensor.type.dtype != DataType::kF32) return tensor;
  Blob bytes = *tensor.data;
  auto* values = reinterpret_cast<float*>(bytes.data());
  for (size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const double error = 2 * unit(mix(noise.seed ^ mix(salt + i))) - 1;
    values[i] = static_cast<float>(static_cast<double>(values[i]) * (1 + noise.relative * error) + absolute * error);
  }
  return {tensor.type, std::make_shared<const Blob>(std::move(bytes))};
}

}  // namespace

uint32_t Program::add_input(DataType dtype, std::vector<Shape> shapes, double low, double high) {
  values.push_back({ProgramValue::Source::kInput, dtype, std::move(shapes), low, high, {}});
  return static_cast<uint32_t>(values.size() - 1);
}
uint32_t Program::add_constant(Tensor tensor) {
  values.push_back({ProgramValue::Source::kConstant, tensor.type.dtype, {}, 0, 0, std::move(tensor)});
  return static_cast<uint32_t>(values.size() - 1);
}
uint32_t Program::add_result(DataType dtype) {
  values.push_back({ProgramValue::Source::kResult, dtype, {}, 0, 0, {}});
  return static_cast<uint32_t>(values.size() - 1);
}
std::vector<uint32_t> Program::inputs() const {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < values.size(); ++i)
    if (values[i].source == ProgramValue::Source::kInput) found.push_back(i);
  return found;
}

Expected<std::vector<Tensor>> call(const ProgramNode& node, const std::vector<Tensor>& operands, const std::vector<bool>& known,
                                   size_t outputs, const Noise& noise) {
  std::vector<OpInput> inputs(operands.size());
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].data)
      inputs[i] = {operands[i].type.dtype, operands[i].type.shape, known[i] ? operands[i].data->data() : nullptr, true};
  std::vector<OpOutput> inferred(outputs);
  INGOT_TRY(infer_types(node.params, inputs, inferred));
  const bool noisy = noise.relative > 0 && !is_exact(node.params);
  std::vector<Tensor> read = operands;
  if (noisy)
    for (size_t i = 0; i < read.size(); ++i) read[i] = disturbed(read[i], noise, 1000003 * i + 7919 * node.outputs[0]);
  std::vector<ConstTensorRef> refs;
  for (const Tensor& tensor : read) refs.push_back(tensor.ref());
  std::vector<TensorType> types;
  std::vector<Blob> blobs;
  int64_t bytes = 0;
  for (const OpOutput& output : inferred) {
    types.push_back({output.dtype, output.shape, Layout::kLinear, {}});
    bytes += types.back().bytes();
    if (bytes > (8 << 20)) return Status(StatusCode::kUnsupported, "too large");
    blobs.emplace_back(static_cast<size_t>(types.back().bytes()));
  }
  std::vector<TensorRef> results;
  for (size_t i = 0; i < outputs; ++i) results.push_back({&types[i], blobs[i].data()});
  INGOT_TRY(run_reference(node.params, refs, results));
  std::vector<Tensor> made;
  for (size_t i = 0; i < outputs; ++i) {
    made.push_back({types[i], std::make_shared<const Blob>(std::move(blobs[i]))});
    if (noisy) made.back() = disturbed(made.back(), noise, 15485863 + 7919 * node.outputs[0] + i);
  }
  return made;
}

bool results_are_known(const ProgramNode& node, const std::vector<Tensor>& operands, const std::vector<bool>& known,
                       const std::vector<Tensor>& results) {
  const OpKind kind = kind_of(node.params);
  if (kind == OpKind::kQuantizeLinear || kind == OpKind::kDequantizeLinear) return false;
  int64_t elements = 0;
  for (const Tensor& result : results) elements += result.type.shape.elements();
  if (elements > 256) return false;
  for (size_t i = 0; i < operands.size(); ++i)
    if (operands[i].data && kind != OpKind::kShape && (!known[i] || operands[i].type.shape.elements() > 4096)) return false;
  return true;
}

Tensor make_input(const Program& program, uint32_t index, const Shape& shape) {
  const ProgramValue& value = program.values[index];
  Tensor tensor{{value.dtype, shape, Layout::kLinear, {}}, nullptr};
  Blob bytes(static_cast<size_t>(tensor.type.bytes()));
  const size_t size = element_bytes(value.dtype);
  for (size_t i = 0; i < bytes.size() / size; ++i) {
    const double u = unit(mix(program.data_seed ^ mix(index * 1000003ull + i)));
    const double number = value.low + u * (value.high - value.low);
    if (value.dtype == DataType::kF32) {
      const auto element = static_cast<float>(std::nearbyint(number * 8) / 8);
      std::memcpy(bytes.data() + i * size, &element, size);
    } else {
      const auto element = static_cast<int64_t>(std::floor(value.low + u * (value.high - value.low + 1)));
      std::memcpy(bytes.data() + i * size, &element, size);  // little-endian
    }
  }
  tensor.data = std::make_shared<const Blob>(std::move(bytes));
  return tensor;
}

std::vector<Shape> shapes_at(const Program& program, size_t probe) {
  std::vector<Shape> shapes;
  for (uint32_t input : program.inputs()) shapes.push_back(program.values[input].shapes[probe]);
  return shapes;
}

Expected<std::vector<Tensor>> evaluate(const Program& program, const std::vector<Shape>& input_shapes, const Noise& noise) {
  std::vector<Tensor> values(program.values.size());
  std::vector<bool> known(program.values.size(), false);
  std::vector<double> scales(program.values.size(), 0);  // of what DequantizeLinear made
  size_t next_input = 0;
  for (uint32_t i = 0; i < values.size(); ++i) {
    if (program.values[i].source == ProgramValue::Source::kInput) values[i] = make_input(program, i, input_shapes[next_input++]);
    if (program.values[i].source != ProgramValue::Source::kConstant) continue;
    values[i] = program.values[i].constant;
    known[i] = true;
  }
  for (const ProgramNode& node : program.nodes) {
    std::vector<Tensor> operands;
    std::vector<bool> operand_known;
    for (uint32_t input : node.inputs) {
      operands.push_back(input == kNone ? Tensor() : values[input]);
      operand_known.push_back(input != kNone && known[input]);
    }
    // A layer on integers rounds its bias to a multiple of the products' scale.
    const bool layer = kind_of(node.params) == OpKind::kConv || kind_of(node.params) == OpKind::kMatMul;
    if (noise.relative > 0 && layer && operands.size() > 2 && operands[2].data)
      operands[2] = disturbed(operands[2], noise, 31 * node.outputs[0], 0.5 * scales[node.inputs[0]] * scales[node.inputs[1]]);
    // So values near the middle between two integers may go either way.
    if (noise.relative > 0 && kind_of(node.params) == OpKind::kQuantizeLinear) {
      float scale = 0;
      for (size_t k = 0; k < operands[1].data->size() / sizeof(float); ++k) scale = std::max(scale, operands[1].ref().as<float>()[k]);
      operands[0] = disturbed(operands[0], noise, 37 * node.outputs[0], 0.005 * static_cast<double>(scale));
    }
    INGOT_ASSIGN(auto results, call(node, operands, operand_known, node.outputs.size(), noise));
    const bool all_known = results_are_known(node, operands, operand_known, results);
    for (size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] == kNone) continue;
      values[node.outputs[i]] = std::move(results[i]);
      known[node.outputs[i]] = all_known;
      if (!node.inputs.empty() && node.inputs[0] != kNone && is_exact(node.params)) scales[node.outputs[i]] = scales[node.inputs[0]];
      if (kind_of(node.params) == OpKind::kDequantizeLinear)
        for (size_t k = 0; k < operands[1].data->size() / sizeof(float); ++k)
          scales[node.outputs[i]] = std::max(scales[node.outputs[i]], static_cast<double>(operands[1].ref().as<float>()[k]));
    }
  }
  return values;
}

std::string value_name(uint32_t value) { return "v" + std::to_string(value); }

Expected<Graph> to_graph(const Program& program) {
  Graph graph;
  GraphEditor editor(graph);
  std::vector<ValueId> ids(program.values.size(), kNone);
  for (uint32_t i = 0; i < ids.size(); ++i) {
    const ProgramValue& value = program.values[i];
    if (value.source == ProgramValue::Source::kInput) ids[i] = editor.add_input(value_name(i), value.dtype, value.shapes);
  }
  for (uint32_t i = 0; i < ids.size(); ++i) {
    const ProgramValue& value = program.values[i];
    if (value.source == ProgramValue::Source::kConstant)
      ids[i] = editor.add_constant(value_name(i), value.dtype, value.constant.type.shape, value.constant.data);
  }
  for (size_t n = 0; n < program.nodes.size(); ++n) {
    const ProgramNode& node = program.nodes[n];
    std::vector<ValueId> inputs;
    for (uint32_t input : node.inputs) inputs.push_back(input == kNone ? kNone : ids[input]);
    std::vector<std::string> names;
    for (uint32_t output : node.outputs) names.push_back(output == kNone ? "" : value_name(output));
    INGOT_ASSIGN(const auto added, editor.add_node("n" + std::to_string(n) + "_" + std::string(to_string(kind_of(node.params))),
                                                   node.params, inputs, names));
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (node.outputs[i] != kNone) ids[node.outputs[i]] = added.outputs[i];
  }
  for (uint32_t output : program.outputs) editor.mark_output(ids[output]);
  return graph;
}

Program pruned(const Program& program) {
  std::vector<bool> needed(program.values.size(), false), kept(program.nodes.size(), false);
  for (uint32_t output : program.outputs) needed[output] = true;
  for (size_t n = program.nodes.size(); n-- > 0;) {
    const ProgramNode& node = program.nodes[n];
    kept[n] = std::any_of(node.outputs.begin(), node.outputs.end(), [&](uint32_t output) { return output != kNone && needed[output]; });
    if (!kept[n]) continue;
    for (uint32_t input : node.inputs)
      if (input != kNone) needed[input] = true;
    for (uint32_t output : node.outputs)
      if (output != kNone) needed[output] = true;
  }
  // Input data depends on an input's index, which therefore stays: what nobody needs becomes an empty constant.
  Program smaller = program;
  smaller.nodes.clear();
  for (size_t n = 0; n < program.nodes.size(); ++n)
    if (kept[n]) smaller.nodes.push_back(program.nodes[n]);
  for (size_t i = 0; i < needed.size(); ++i)
    if (!needed[i] && program.values[i].source == ProgramValue::Source::kInput) {
      smaller.values[i].source = ProgramValue::Source::kConstant;
      smaller.values[i].constant = {{program.values[i].dtype, Shape{0}, Layout::kLinear, {}}, std::make_shared<const Blob>()};
    }
  return smaller;
}

std::vector<Program> smaller(const Program& program) {
  std::vector<Program> found;
  const auto try_one = [&](Program candidate) { found.push_back(pruned(candidate)); };
  if (program.outputs.size() > 1)
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      Program one = program;
      one.outputs = {program.outputs[i]};
      try_one(std::move(one));
    }
  if (program.probes > 1) {
    for (size_t probe = program.probes; probe-- > 0;) {
      Program fixed = program;
      fixed.probes = 1;
      for (ProgramValue& value : fixed.values)
        if (value.source == ProgramValue::Source::kInput) value.shapes = {value.shapes[probe]};
      try_one(std::move(fixed));
    }
  }
  std::vector<std::vector<Tensor>> values;
  for (size_t probe = 0; probe < program.probes; ++probe) {
    auto at = evaluate(program, shapes_at(program, probe));
    if (!at.ok()) return found;
    values.push_back(*std::move(at));
  }
  const auto replace = [](Program& in, uint32_t from, uint32_t to) {
    for (ProgramNode& node : in.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
    std::replace(in.outputs.begin(), in.outputs.end(), from, to);
  };
  for (size_t n = 0; n < program.nodes.size(); ++n) {
    const ProgramNode& node = program.nodes[n];
    for (uint32_t output : node.outputs) {
      if (output == kNone) continue;
      std::vector<Shape> shapes;
      for (const auto& at : values) shapes.push_back(at[output].type.shape);
      const bool scaled = kind_of(node.params) == OpKind::kQuantizeLinear || kind_of(node.params) == OpKind::kDequantizeLinear;
      for (uint32_t input : node.inputs) {
        if (scaled || input == kNone || program.values[input].dtype != program.values[output].dtype) continue;
        bool same = true;
        for (const auto& at : values) same = same && at[input].type.shape == at[output].type.shape;
        const bool is_output = std::find(program.outputs.begin(), program.outputs.end(), output) != program.outputs.end();
        if (!same || (is_output && program.values[input].source != ProgramValue::Source::kResult)) continue;
        Program without = program;
        replace(without, output, input);
        try_one(std::move(without));
      }
      const bool is_output = std::find(program.outputs.begin(), program.outputs.end(), output) != program.outputs.end();
      if (is_output) {  // the nodes before it, alone
        for (uint32_t input : node.inputs) {
          if (input == kNone || program.values[input].source != ProgramValue::Source::kResult) continue;
          Program before = program;
          std::replace(before.outputs.begin(), before.outputs.end(), output, input);
          try_one(std::move(before));
        }
        continue;
      }
      Program cut = program;
      const bool is_float = program.values[output].dtype == DataType::kF32;
      replace(cut, output, cut.add_input(program.values[output].dtype, shapes, is_float ? -2 : 0, is_float ? 2 : 1));
      try_one(std::move(cut));
    }
  }
  for (uint32_t i = 0; i < program.values.size(); ++i) {
    const ProgramValue& value = program.values[i];
    if (value.source != ProgramValue::Source::kInput || program.probes > 1) continue;
    bool read = false;
    for (const ProgramNode& node : program.nodes) read = read || std::find(node.inputs.begin(), node.inputs.end(), i) != node.inputs.end();
    if (!read) continue;
    Program fixed = program;
    Tensor tensor = make_input(program, i, value.shapes[0]);
    replace(fixed, i, fixed.add_constant(std::move(tensor)));
    try_one(std::move(fixed));
  }
  return found;
}

}  // namespace ingot::random_graphs
