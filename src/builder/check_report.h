// What a build would do, without doing it: import and all passes, and kernels by estimated costs; no timing, no packing, no file.
#pragma once

#include <string>

#include "ingot/builder.h"
#include "ingot/status.h"

namespace ingot {

// As check_model() of ingot/builder.h, which guards it against what may be thrown.
Expected<std::string> check_report_json(const std::string& model_path, const BuildOptions& options);

}  // namespace ingot
