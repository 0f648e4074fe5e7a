// Loads an engine, feeds it zeros, prints what comes out: all that a serving program needs, with the runtime library alone.
//   hello_engine net.engine
#include <cstdio>
#include <cstring>

#include "ingot/runtime.h"

static int fail(const ingot::Status& status) {
  std::fprintf(stderr, "hello_engine: %s\n", std::string(status.message()).c_str());
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: hello_engine ENGINE\n"), 2;
  auto engine = ingot::Engine::load_file(argv[1], {.threads = 1});
  if (!engine.ok()) return fail(engine.status());
  auto context = engine->create_context();  // all memory of a run; one per thread that serves
  if (!context.ok()) return fail(context.status());

  for (const ingot::TensorInfo& input : engine->inputs()) {
    const ingot::Buffer buffer = context->input_buffer(input.name);
    std::memset(buffer.data, 0, buffer.bytes);
    std::printf("input  %s: %s\n", input.name.c_str(), to_string(input.opt).c_str());
  }
  for (const ingot::TensorInfo& output : engine->outputs()) context->output_buffer(output.name);

  if (ingot::Status status = context->run(); !status.ok()) return fail(status);

  for (const ingot::TensorInfo& output : engine->outputs()) {
    const ingot::Shape shape = *context->shape(output.name);
    std::printf("output %s: %s\n", output.name.c_str(), to_string(shape).c_str());
    if (output.dtype != ingot::DataType::kF32) continue;
    const auto* values = static_cast<const float*>(context->output_buffer(output.name).data);
    for (int64_t i = 0; i < shape.elements() && i < 10; ++i) std::printf(" %.4f", values[i]);
    std::printf("\n");
  }
  return 0;
}
