// Named tensors into a context: what calibration, verification and the tools share.
#include <cstring>

#include "ingot/builder.h"

namespace ingot {

Status feed_sample(ExecutionContext& context, const Engine& engine, std::span<const NamedTensor> sample) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  std::vector<bool> given(inputs.size(), false);
  for (size_t i = 0; i < sample.size(); ++i) {
    const NamedTensor& tensor = sample[i];
    size_t index = i;
    if (!tensor.name.empty()) {
      index = 0;
      while (index < inputs.size() && inputs[index].name != tensor.name) ++index;
      // Stored tensors often carry names of their own; by place is then meant.
      if (index == inputs.size() && sample.size() == inputs.size()) index = i;
    }
    if (index >= inputs.size()) {
      std::string names;
      for (const TensorInfo& input : inputs) names += (names.empty() ? "'" : ", '") + input.name + "'";
      return Status(StatusCode::kInvalidArgument, "sample: no input is called '" + tensor.name + "': got " + std::to_string(sample.size()) +
                                                      " tensors, need one for each of the engine's inputs: " + names);
    }
    const TensorInfo& input = inputs[index];
    if (tensor.dtype != input.dtype)
      return Status(StatusCode::kInvalidArgument, "input '" + input.name + "': wrong element type: got " + std::string(to_string(tensor.dtype)) +
                                                      ", need " + std::string(to_string(input.dtype)));
    INGOT_TRY(context.set_shape(input.name, tensor.shape));
    const Buffer buffer = context.input_buffer(input.name);
    if (!buffer.data && !tensor.data.empty()) return Status(StatusCode::kOutOfMemory, "input '" + input.name + "': no memory");
    if (tensor.data.size() > buffer.bytes || static_cast<int64_t>(tensor.data.size()) != tensor.shape.elements() * static_cast<int64_t>(element_bytes(tensor.dtype)))
      return Status(StatusCode::kInvalidArgument, "input '" + input.name + "': data does not fill its shape " + to_string(tensor.shape));
    if (!tensor.data.empty()) std::memcpy(buffer.data, tensor.data.data(), tensor.data.size());
    given[index] = true;
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!given[i]) return Status(StatusCode::kInvalidArgument, "input '" + inputs[i].name + "' is missing");
  return {};
}

}  // namespace ingot
