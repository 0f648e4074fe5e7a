// Reads a ModelProto from a file or from memory, hashing it on the way.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "builder/onnx/onnx_proto.h"
#include "ingot/status.h"

namespace ingot {

struct LoadedModel {
  onnx::ModelProto proto;
  std::string base_dir;  // canonical; empty: no external data
  std::string hash;      // as model_hash()
};

Expected<LoadedModel> load_model(const std::string& path, int64_t max_bytes);
Expected<LoadedModel> load_model_bytes(std::span<const std::byte> bytes, const std::string& base_dir, int64_t max_bytes);

}  // namespace ingot
