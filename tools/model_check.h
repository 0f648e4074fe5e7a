// engine-build --check: what a model would become, as a table and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "cli.h"
#include "ingot/builder.h"

namespace ingot::cli {

// Prints the table, or what is not supported, and returns the exit code: 0 supported, 1 malformed, 3 unsupported.
int check_and_print(std::string_view tool, const std::string& model, const BuildOptions& options, const StandardOptions& standard);

}  // namespace ingot::cli
