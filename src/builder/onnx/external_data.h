// Reads a tensor's bytes from a file beside the model. The model chooses the name, so it is not trusted: the file must be
// a regular one inside the model's folder, reached by no link that leaves it, and long enough before anything is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ingot/kernel.h"
#include "ingot/status.h"

namespace ingot {

struct ExternalLocation {
  std::string location;
  int64_t offset = 0;
  int64_t length = -1;  // −1: as many bytes as the tensor has
};

// The folder of a model, as external data is compared with it.
Expected<std::string> canonical_folder(const std::string& model_path);
Expected<Blob> read_external_data(const std::string& base_dir, const ExternalLocation& where_from, int64_t bytes,
                                  std::string_view where);
// Size of the file, with the same checks.
Expected<int64_t> external_file_bytes(const std::string& base_dir, const std::string& location, std::string_view where);

}  // namespace ingot
