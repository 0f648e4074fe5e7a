// A network as a list: inputs, constants, op calls in order, outputs. It is what the random-graph test makes, shrinks and
// evaluates; evaluation knows the ops' type rules and reference code only, nothing of Graph, passes or plans.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "builder/graph/graph.h"

namespace ingot::random_graphs {

struct Tensor {
  TensorType type;
  std::shared_ptr<const Blob> data;
  ConstTensorRef ref() const { return data ? ConstTensorRef{&type, data->data()} : ConstTensorRef{}; }
};

struct ProgramValue {
  enum class Source { kInput, kConstant, kResult } source = Source::kInput;
  DataType dtype = DataType::kF32;
  std::vector<Shape> shapes;     // of an input: at each probe
  double low = -2, high = 2;     // of an input: its elements, multiples of 1/8 where they are floats
  Tensor constant;
};

struct ProgramNode {
  OpParams params;
  std::vector<uint32_t> inputs, outputs;  // indices of values; kNone for one left out
};

struct Program {
  uint64_t data_seed = 0;
  size_t probes = 1;                      // 1, or 4 in the order of Probe
  std::vector<ProgramValue> values;
  std::vector<ProgramNode> nodes;         // producers before users
  std::vector<uint32_t> outputs;

  uint32_t add_input(DataType dtype, std::vector<Shape> shapes, double low, double high);
  uint32_t add_constant(Tensor tensor);
  uint32_t add_result(DataType dtype);
  std::vector<uint32_t> inputs() const;
};

// Relative errors put on everything that float arithmetic reads and makes: what a legal reordering could change.
struct Noise {
  double relative = 0;
  uint64_t seed = 0;
};

// One call: infers the results' types and computes them. `known`: whether the type rule may read the value of an operand.
Expected<std::vector<Tensor>> call(const ProgramNode& node, const std::vector<Tensor>& operands, const std::vector<bool>& known,
                                   size_t outputs, const Noise& noise);
// Whether the results of the call are known before a run, as those of shape arithmetic are.
bool results_are_known(const ProgramNode& node, const std::vector<Tensor>& operands, const std::vector<bool>& known,
                       const std::vector<Tensor>& results);
// An input's elements; they depend on the program's seed, the input's place and its shape only.
Tensor make_input(const Program& program, uint32_t value, const Shape& shape);
// All values at given input shapes (one for each of inputs()), by reference code.
Expected<std::vector<Tensor>> evaluate(const Program& program, const std::vector<Shape>& input_shapes, const Noise& noise = {});
std::vector<Shape> shapes_at(const Program& program, size_t probe);

// Values are called v<index>, nodes n<index>_<op>.
Expected<Graph> to_graph(const Program& program);
std::string value_name(uint32_t value);

// Drops nodes that no output needs, and inputs nobody reads.
Program pruned(const Program& program);
// Smaller programs that might fail in the same way, the boldest first.
std::vector<Program> smaller(const Program& program);

}  // namespace ingot::random_graphs
