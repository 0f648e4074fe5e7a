// Labels of samples: a text file with `name label` lines, or one label per line in the samples' order. `#` opens a
// comment only at the start of a line: labels may hold it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ingot/status.h"

namespace ingot {

// One label per sample, in the order of `names`. The file is by name if its first line begins with a sample's name
// (whole, or without folder, or without ending too), parted from the label by a tab or blanks; then every sample needs
// a line, and lines of other files are ignored. Otherwise line i belongs to sample i, and the counts must agree.
Expected<std::vector<std::string>> parse_labels(std::string_view text, const std::vector<std::string>& names,
                                                std::string_view where);

}  // namespace ingot
