// TensorProto ↔ (TensorType, bytes). Every way ONNX stores a tensor ends here as row-major bytes of one element each:
// raw_data, the typed fields, external files, sparse tensors; 4-bit types are unpacked to one byte each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ingot/kernel.h"
#include "ingot/status.h"
#include "ingot/types.h"

namespace onnx {
class TensorProto;
class SparseTensorProto;
}  // namespace onnx

namespace ingot {

struct TensorContent {
  TensorType type;
  Blob bytes;
};

// Where external data may lie, and how much tensors may expand to beyond what the model's bytes pay for.
struct TensorSource {
  std::string base_dir;                        // canonical; empty: external data is refused
  int64_t max_sparse_bytes = int64_t{1} << 28;  // all sparse tensors made dense
  mutable int64_t sparse_bytes = 0;             // made so far
};

// The element type for ONNX's number; an error says which type it is that Ingot does not have.
Expected<DataType> data_type_from_onnx(int64_t onnx_type);
int32_t data_type_to_onnx(DataType type);

// `where` begins the message of an error: "initializer 'w'".
Expected<TensorContent> read_tensor(const onnx::TensorProto& proto, const TensorSource& source, std::string_view where);
Expected<TensorContent> read_sparse_tensor(const onnx::SparseTensorProto& proto, const TensorSource& source,
                                           std::string_view where);
// As raw_data; 4-bit types are packed again.
onnx::TensorProto write_tensor(std::string name, const TensorType& type, std::span<const std::byte> bytes);

// Serialised TensorProtos, as in the .pb files of ONNX's tests; for callers that don't see protobuf.
std::string serialize_tensor(std::string name, const TensorType& type, std::span<const std::byte> bytes);
Expected<TensorContent> parse_tensor(std::span<const std::byte> bytes, std::string_view where);

}  // namespace ingot
