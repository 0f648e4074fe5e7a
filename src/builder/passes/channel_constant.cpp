// Reads and makes per-channel constants.
#include "builder/passes/channel_constant.h"

#include <algorithm>

namespace ingot {

bool is_f32(const Graph& graph, ValueId value) {
  return value != kNone && graph.value(value).type.dtype == DataType::kF32 && !graph.value(value).type.quant;
}

bool is_f32_constant(const Graph& graph, ValueId value) { return graph.is_constant(value) && is_f32(graph, value); }

std::optional<std::vector<float>> channel_values(const Graph& graph, ValueId constant, int rank, int axis, int64_t channels) {
  if (!is_f32_constant(graph, constant) || channels <= 0) return std::nullopt;
  const Shape& shape = graph.value(constant).type.shape;
  if (shape.rank > rank) return std::nullopt;
  for (int i = 0; i < shape.rank; ++i) {
    const bool on_axis = i + rank - shape.rank == axis;
    if (shape[i] != 1 && !(on_axis && shape[i] == channels)) return std::nullopt;
  }
  const auto values = constant_span<float>(graph, constant);
  if (values.size() == 1) return std::vector<float>(static_cast<size_t>(channels), values[0]);
  return std::vector<float>(values.begin(), values.end());
}

bool is_filled_with(const Graph& graph, ValueId constant, double number) {
  if (!graph.is_constant(constant) || graph.value(constant).type.quant) return false;
  const auto all = [&]<class T>(T) {
    const auto values = constant_span<T>(graph, constant);
    return std::all_of(values.begin(), values.end(), [&](T v) { return static_cast<double>(v) == number; });
  };
  switch (graph.value(constant).type.dtype) {
    case DataType::kF32: return all(float{});
    case DataType::kF64: return all(double{});
    case DataType::kS32: return all(int32_t{});
    case DataType::kS64: return all(int64_t{});
    default: return false;
  }
}

ValueId scale_channels(GraphEditor& editor, ValueId weight, int axis, std::span<const float> factors, int64_t groups) {
  const Value& old = editor.graph().value(weight);
  const Shape shape = old.type.shape;
  int64_t inner = 1;
  for (int i = axis + 1; i < shape.rank; ++i) inner *= shape[i];
  const int64_t count = shape[axis], outer = shape.elements() / std::max<int64_t>(inner * count, 1);
  const auto values = constant_span<float>(editor.graph(), weight);
  std::vector<float> scaled(values.begin(), values.end());
  for (int64_t o = 0; o < outer; ++o) {
    const int64_t group = groups == 1 ? 0 : o / (outer / groups);
    for (int64_t c = 0; c < count; ++c)
      for (int64_t i = 0; i < inner; ++i)
        scaled[static_cast<size_t>((o * count + c) * inner + i)] *= factors[static_cast<size_t>(group * count + c)];
  }
  const std::string name = old.name;
  return editor.add_constant_of<float>(name, DataType::kF32, shape, scaled);
}

ValueId add_vector(GraphEditor& editor, const std::string& name, std::span<const float> values) {
  return editor.add_constant_of<float>(name, DataType::kF32, Shape{static_cast<int64_t>(values.size())}, values);
}

}  // namespace ingot
