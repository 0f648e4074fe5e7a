// Names of dims that are sums of other names, as exporters of decoders write them: "past_sequence_length + sequence_length".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ingot {

struct DimTerm {
  int64_t factor = 1;
  std::vector<std::string> names;  // multiplied; none: the factor alone
};
// nullopt for what is no sum or product: a plain name, or one that cannot be read. Between names stand +, * or a − with spaces.
std::optional<std::vector<DimTerm>> parse_dim_expression(std::string_view text);
// nullopt where a name has no value, or the result is no size.
std::optional<int64_t> value_of(const std::vector<DimTerm>& terms, const std::function<std::optional<int64_t>(const std::string&)>& value);

}  // namespace ingot
