// Bodies of dim_expression.h.
#include "builder/onnx/dim_expression.h"

#include <charconv>

namespace ingot {
namespace {

constexpr size_t kLongestExpression = 256;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// One product of names and numbers.
bool read_term(std::string_view text, bool negative, std::vector<DimTerm>& terms) {
  DimTerm& term = terms.emplace_back();
  if (negative) term.factor = -1;
  while (true) {
    const size_t star = text.find('*');
    const std::string_view factor = trimmed(text.substr(0, star));
    if (factor.empty() || factor.find_first_of(" ()/,+") != std::string_view::npos) return false;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), number);
    const bool is_number = error == std::errc() && end == factor.data() + factor.size();
    if (is_number && (number < 0 || __builtin_mul_overflow(term.factor, number, &term.factor))) return false;
    if (!is_number) term.names.emplace_back(factor);
    if (star == std::string_view::npos) return true;
    text.remove_prefix(star + 1);
  }
}

}  // namespace

std::optional<std::vector<DimTerm>> parse_dim_expression(std::string_view text) {
  text = trimmed(text);
  if (text.size() > kLongestExpression || text.find_first_of("+* ") == std::string_view::npos) return std::nullopt;
  std::vector<DimTerm> terms;
  bool negative = false;
  while (true) {
    const size_t plus = text.find('+'), minus = text.find(" - "), end = std::min(plus, minus);
    if (!read_term(text.substr(0, end), negative, terms)) return std::nullopt;
    if (end == std::string_view::npos) break;
    negative = minus < plus;
    text.remove_prefix(end + (negative ? 3 : 1));
  }
  return terms;
}

std::optional<int64_t> value_of(const std::vector<DimTerm>& terms, const std::function<std::optional<int64_t>(const std::string&)>& value) {
  int64_t total = 0;
  for (const DimTerm& term : terms) {
    int64_t product = term.factor;
    for (const std::string& name : term.names) {
      const std::optional<int64_t> one = value(name);
      if (!one || __builtin_mul_overflow(product, *one, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(total, product, &total)) return std::nullopt;
  }
  return total >= 0 ? std::optional(total) : std::nullopt;
}

}  // namespace ingot
