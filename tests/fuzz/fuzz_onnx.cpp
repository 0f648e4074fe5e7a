// Fuzz target: any bytes as an ONNX model end in a graph or in an error with words. Under clang it is a libFuzzer target;
// otherwise it has a main of its own: fuzz_onnx [--seconds 60] [--seed 1] [model files as seeds], with structural mutations.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "builder/onnx/import_model.h"
#include "builder/onnx/tensor_proto.h"
#include "mutate_onnx.h"
#include "seed_models.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  ingot::ImportOptions options;
  options.max_sparse_bytes = 1 << 20;
  const auto graph = ingot::import_model_bytes(bytes, "", options);
  if (!graph.ok() && (graph.status().message().empty() || graph.status().code() == ingot::StatusCode::kInternal)) {
    std::fprintf(stderr, "bad answer: %s\n", std::string(graph.status().message()).c_str());
    std::abort();
  }
  (void)ingot::parse_tensor(bytes, "tensor").ok();
  return 0;
}

#ifndef INGOT_LIBFUZZER
int main(int count, char** arguments) {
  double seconds = 60;
  uint64_t seed = 1;
  std::vector<std::string> seeds;
  for (int i = 1; i < count; ++i) {
    if (!std::strcmp(arguments[i], "--seconds") && i + 1 < count) seconds = std::atof(arguments[++i]);
    else if (!std::strcmp(arguments[i], "--seed") && i + 1 < count) seed = std::strtoull(arguments[++i], nullptr, 10);
    else {
      std::ifstream file(arguments[i], std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
      if (!file.good() && seeds.back().empty()) {
        std::fprintf(stderr, "cannot read '%s'\n", arguments[i]);
        return 2;
      }
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(seeds.back().data()), seeds.back().size());
    }
  }
  if (seeds.empty()) {
    seeds = ingot::seed_models();
    for (const std::string& own : seeds)  // one that is refused from the start reaches nothing
      if (const auto graph = ingot::import_model_bytes(std::as_bytes(std::span(own)), "", {}); !graph.ok()) {
        std::fprintf(stderr, "seed: %s\n", std::string(graph.status().message()).c_str());
        return 1;
      }
  }
  std::mt19937_64 random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t runs = 0;
  std::string input;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const std::string& start = seeds[random() % seeds.size()];
    if (random() % 3 == 0) {
      input = ingot::mutate_bytes(start, random);
    } else {
      onnx::ModelProto model;
      if (!model.ParseFromString(start)) continue;
      ingot::mutate_model(model, random);
      input = model.SerializeAsString();
    }
    // Left behind by a crash, so that it can be replayed: fuzz_onnx --seconds 0 FILE.
    if (std::getenv("FUZZ_KEEP_INPUT")) std::ofstream("fuzz_onnx.input", std::ios::binary) << input;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  }
  std::printf("%llu runs, seed %llu\n", static_cast<unsigned long long>(runs), static_cast<unsigned long long>(seed));
  return 0;
}
#endif
