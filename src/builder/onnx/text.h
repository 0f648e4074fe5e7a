// How names from a model are shown: quoted, with control characters and broken UTF-8 escaped, and cut when very long.
#pragma once

#include <string>
#include <string_view>

namespace ingot {

bool is_valid_utf8(std::string_view text);
std::string printable(std::string_view name);  // conv1
std::string quoted(std::string_view name);  // 'conv1'

}  // namespace ingot
