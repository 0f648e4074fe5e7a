// Indices of indexed reads and writes: their types, and one of them as a place in a dim.
#pragma once

#include "runtime/ops/type_rule.h"

namespace ingot {

inline Status check_index_type(std::string_view op, DataType type) {
  if (type == DataType::kS32 || type == DataType::kS64) return {};
  return refuse(op, "type of the indices", to_string(type), "s32 or s64");
}

// Index i, counted from either end of a dim, as 0 … dim − 1.
inline Status read_place(std::string_view op, const ConstTensorRef& indices, int64_t i, int64_t dim, int64_t& place) {
  place = indices.type->dtype == DataType::kS32 ? indices.as<int32_t>()[i] : indices.as<int64_t>()[i];
  if (place < -dim || place >= dim)
    return refuse(op, "index " + std::to_string(i) + " out of range", std::to_string(place),
                  dim == 0 ? std::string("a dim that is not empty")
                           : std::to_string(-dim) + " to " + std::to_string(dim - 1),
                  StatusCode::kInvalidArgument);
  if (place < 0) place += dim;
  return {};
}

}  // namespace ingot
