// ONNX → Graph. The model is not trusted: whatever is wrong with it ends in one clear line. All nodes that Ingot cannot do are
// listed at once. This folder alone sees protobuf, and what protobuf throws is caught here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "builder/graph/graph.h"
#include "ingot/builder.h"
#include "ingot/status.h"

namespace ingot {

struct ImportOptions {
  std::vector<ShapeProfile> profiles;            // one for each input with dynamic dims
  std::vector<TensorLimit> limits;               // of tensors whose dims depend on data
  int64_t max_model_bytes = INT32_MAX;           // protobuf's own limit; larger weights are external data
  int64_t max_sparse_bytes = int64_t{1} << 28;   // all sparse tensors made dense
};

// kInvalidModel: malformed; kUnsupported: one line for each node at fault; kInvalidArgument: a profile is missing or wrong.
Expected<Graph> import_model(const std::string& path, const ImportOptions& options);
// base_dir: where external data lies; empty: there is none.
Expected<Graph> import_model_bytes(std::span<const std::byte> bytes, const std::string& base_dir,
                                   const ImportOptions& options);

struct ModelInput {
  std::string name;
  DataType dtype = DataType::kF32;
  Shape shape;                           // kDynamic where the model leaves a dim open
  std::vector<std::string> dim_names;    // the model's name for each open dim; "" if it has none
};
// What the model is fed, initialisers not counted.
Expected<std::vector<ModelInput>> read_model_inputs(const std::string& path);

// 16 hex digits: XXH64 over the model's bytes and the lengths of its external files.
Expected<std::string> model_hash(const std::string& path);

}  // namespace ingot
