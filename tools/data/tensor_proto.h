// ONNX TensorProto files (.pb), as in ONNX's own test data. Read and written straight from the wire format, so that
// tools which feed a model need no protobuf library.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "ingot/calibrator.h"
#include "ingot/status.h"

namespace ingot {

// Reads raw_data and every typed encoding; strings, complex numbers, segments and external data are refused.
// 4-bit types come out unpacked, one element a byte.
Expected<NamedTensor> parse_tensor_proto(std::span<const std::byte> bytes, std::string_view where);
// Writes raw_data.
std::vector<std::byte> write_tensor_proto(const NamedTensor& tensor);

}  // namespace ingot
