// Bodies of type_rule.h.
#include "runtime/ops/type_rule.h"

namespace ingot {

Status refuse(std::string_view op, std::string_view problem, std::string_view got, std::string_view need,
              StatusCode code) {
  std::string message(op);
  message.append(": ").append(problem).append(": got ").append(got).append(", need ").append(need);
  return Status(code, std::move(message));
}

Status refuse_unknown_value(std::string_view op, std::string_view name) {
  return refuse(op, "shape of the result depends on data", std::string(name) + " computed in the run",
                "a constant or shape arithmetic", StatusCode::kUnsupported);
}

Status check_arity(std::string_view op, std::span<const OpInput> inputs, size_t required, size_t most,
                   std::span<const OpOutput> outputs, size_t outputs_wanted) {
  if (inputs.size() < required || inputs.size() > most)
    return refuse(op, "number of inputs", std::to_string(inputs.size()),
                  required == most ? std::to_string(most) : std::to_string(required) + " to " + std::to_string(most));
  if (outputs.size() != outputs_wanted)
    return refuse(op, "number of outputs", std::to_string(outputs.size()), std::to_string(outputs_wanted));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present) {
      if (i < required) return refuse(op, "input " + std::to_string(i) + " is left out", "nothing", "a tensor");
    } else if (inputs[i].shape.rank < 0 || inputs[i].shape.rank > Shape::kMaxRank ||
               !checked_elements(inputs[i].shape.span())) {
      return refuse(op, "shape of input " + std::to_string(i), to_string(inputs[i].shape), "addressable dims");
    }
  }
  return {};
}

Status read_axis(std::string_view op, int64_t axis, int rank, int& result) {
  if (axis < -rank || axis >= rank)
    return refuse(op, "axis outside the rank", std::to_string(axis),
                  rank == 0 ? std::string("rank 1 or more")
                            : std::to_string(-rank) + " to " + std::to_string(rank - 1));
  result = static_cast<int>(axis < 0 ? axis + rank : axis);
  return {};
}

Status read_index_list(std::string_view op, std::string_view name, const OpInput& input, int most, IndexList& list) {
  if (input.dtype != DataType::kS64 && input.dtype != DataType::kS32)
    return refuse(op, std::string(name) + " of the wrong type", to_string(input.dtype), "s64");
  if (input.shape.rank > 1)
    return refuse(op, std::string(name) + " of the wrong rank", std::to_string(input.shape.rank), "1");
  const int64_t count = input.shape.elements();
  // A list that is too long for any shape Ingot handles is refused as such, not as malformed.
  if (count < 0 || count > most)
    return refuse(op, "too many " + std::string(name), std::to_string(count), "at most " + std::to_string(most),
                  StatusCode::kUnsupported);
  if (count > 0 && input.data == nullptr) return refuse_unknown_value(op, name);
  list.count = static_cast<int>(count);
  for (int i = 0; i < list.count; ++i) list.values[static_cast<size_t>(i)] = read_index(input, i);
  return {};
}

Status append_dim(std::string_view op, Shape& shape, int64_t dim) {
  if (shape.rank == Shape::kMaxRank)
    return refuse(op, "rank of the result", "more than 8", "at most 8", StatusCode::kUnsupported);
  shape[shape.rank++] = dim;
  return {};
}

Status set_output(std::string_view op, OpOutput& output, DataType dtype, const Shape& shape) {
  if (!checked_elements(shape.span()))
    return refuse(op, "shape of the result", to_string(shape), "fewer than 2^59 elements and no negative dim");
  output.dtype = dtype;
  output.shape = shape;
  output.counted = 0;
  return {};
}

Status report_shape(std::string_view op, const TensorRef& output, const Shape& shape, bool& fits) {
  const Shape& room = output.type->shape;
  fits = shape.rank == room.rank;
  for (int i = 0; fits && i < shape.rank; ++i) fits = shape[i] <= room[i];
  if (output.produced) {
    *output.produced = shape;
    return {};
  }
  if (shape == room) return {};
  fits = false;
  return refuse(op, "output shape differs from what the inputs give", to_string(room), to_string(shape), StatusCode::kInvalidArgument);
}

}  // namespace ingot
