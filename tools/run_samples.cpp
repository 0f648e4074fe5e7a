// Samples in, outputs out.
#include "run_samples.h"

#include <cstring>
#include <random>

namespace ingot::cli {

Status feed_random(ExecutionContext& context, const Engine& engine) {
  std::mt19937 random(1);
  for (const TensorInfo& input : engine.inputs()) {
    INGOT_TRY(context.set_shape(input.name, input.opt));
    const Buffer buffer = context.input_buffer(input.name);
    if (!buffer.data && buffer.bytes) return Status(StatusCode::kOutOfMemory, "input '" + input.name + "': no memory");
    const auto count = static_cast<size_t>(input.opt.elements());
    if (input.dtype == DataType::kF32) {
      std::uniform_real_distribution<float> uniform(-1, 1);
      for (size_t i = 0; i < count; ++i) static_cast<float*>(buffer.data)[i] = uniform(random);
    } else if (input.dtype == DataType::kS64) {
      for (size_t i = 0; i < count; ++i) static_cast<int64_t*>(buffer.data)[i] = 1;  // valid as a token, an index, a mask
    } else if (input.dtype == DataType::kS32) {
      for (size_t i = 0; i < count; ++i) static_cast<int32_t*>(buffer.data)[i] = 1;
    } else if (input.dtype == DataType::kU8 || input.dtype == DataType::kS8) {
      for (size_t i = 0; i < count; ++i) static_cast<uint8_t*>(buffer.data)[i] = static_cast<uint8_t>(random());
    }
  }
  return {};
}

void own_outputs(ExecutionContext& context, const Engine& engine) {
  for (const TensorInfo& output : engine.outputs()) (void)context.output_buffer(output.name);
}

Expected<std::vector<NamedTensor>> outputs_of(ExecutionContext& context, const Engine& engine) {
  std::vector<NamedTensor> outputs;
  for (const TensorInfo& info : engine.outputs()) {
    INGOT_ASSIGN(const Shape shape, context.shape(info.name));
    NamedTensor tensor{info.name, info.dtype, shape, {}};
    const Buffer buffer = context.output_buffer(info.name);
    tensor.data.resize(static_cast<size_t>(shape.elements()) * element_bytes(info.dtype));
    if (!tensor.data.empty()) std::memcpy(tensor.data.data(), buffer.data, tensor.data.size());
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

}  // namespace ingot::cli
