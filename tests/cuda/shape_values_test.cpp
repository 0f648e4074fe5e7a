// Results of shape arithmetic that kernels read, and that are results themselves: made on the host, taken to the GPU with each recording.
#include <filesystem>
#include <fstream>

#include "builder/onnx_model_maker.h"
#include "cuda/stand_in.h"
#include "ingot/ingot.h"

namespace ingot {
namespace {

// y = x + batch, place = 0 … batch − 1, dims = shape of x.
std::string model() {
  ModelMaker maker(17);
  maker.input("x", {open("n"), int64_t{3}}).output("y").output("place").output("dims");
  maker.constant<int64_t>("zero", {}, {0}).constant<int64_t>("one", {}, {1});
  maker.node("Shape", {"x"}, {"dims"});
  maker.node("Gather", {"dims", "zero"}, {"n"});
  maker.node("Cast", {"n"}, {"batch"}).integer("to", 1);
  maker.node("Add", {"x", "batch"}, {"y"});
  maker.node("Range", {"zero", "n", "one"}, {"place"});
  return maker.bytes();
}

TEST(CudaShapeValues, FollowEachShape) {
  const std::string path = (std::filesystem::temp_directory_path() / ("shape_values_" + std::to_string(::getpid()) + ".onnx")).string();
  std::ofstream(path, std::ios::binary) << model();
  BuildOptions options;
  options.targets = {"cuda-sm_80"};
  const auto profile = parse_profile("x=1x3:2x3:4x3");
  ASSERT_TRUE(profile.ok()) << profile.status().message();
  add_profile(options, *profile);
  const auto built = build(path, options);
  std::filesystem::remove(path);
  ASSERT_TRUE(built.ok()) << built.status().message();
  std::vector<std::byte> storage(built->engine.size() + 64);
  std::byte* const aligned = storage.data() + (64 - reinterpret_cast<uintptr_t>(storage.data()) % 64) % 64;
  std::copy(built->engine.begin(), built->engine.end(), aligned);
  RuntimeOptions on_gpu;
  on_gpu.backend = "cuda";
  const auto engine = Engine::load({aligned, built->engine.size()}, on_gpu);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  auto context = engine->create_context();
  ASSERT_TRUE(context.ok()) << context.status().message();
  for (int64_t batch : {2, 4, 1, 3, 3}) {
    ASSERT_TRUE(context->set_shape("x", {batch, 3}).ok());
    auto* x = static_cast<float*>(context->input_buffer("x").data);
    for (int64_t i = 0; i < batch * 3; ++i) x[i] = static_cast<float>(10 * i);
    auto* y = static_cast<float*>(context->output_buffer("y").data);
    auto* place = static_cast<int64_t*>(context->output_buffer("place").data);
    auto* dims = static_cast<int64_t*>(context->output_buffer("dims").data);
    const Status status = context->run();
    ASSERT_TRUE(status.ok()) << status.message();
    for (int64_t i = 0; i < batch * 3; ++i) EXPECT_EQ(y[i], static_cast<float>(10 * i + batch));
    for (int64_t i = 0; i < batch; ++i) EXPECT_EQ(place[i], i);
    EXPECT_EQ(dims[0], batch);
    EXPECT_EQ(dims[1], 3);
  }
}

}  // namespace
}  // namespace ingot
