// Numbers and declarations, which module and function bodies share.
#include <bit>
#include <charconv>
#include <cstring>

#include "ptx/function_reader.h"

namespace ingot::ptx {

void TokenReader::fail(const std::string& what) const {
  throw PtxError("ptx: line " + std::to_string(peek().line) + ": " + what);
}

void TokenReader::need(std::string_view text) {
  if (!take(text)) fail("got '" + std::string(peek().text) + "', need '" + std::string(text) + "'");
}

bool parse_integer(std::string_view text, uint64_t& value) {
  if (text.ends_with('U')) text.remove_suffix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
  if (text.starts_with("0b") || text.starts_with("0B")) base = 2;
  if (base != 10)
    text.remove_prefix(2);
  else if (text.size() > 1 && text[0] == '0')
    base = 8;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc{} && end == text.data() + text.size();
}

int parse_float(std::string_view text, uint64_t& value) {
  const bool f32 = text.starts_with("0f") || text.starts_with("0F"),
             f64 = text.starts_with("0d") || text.starts_with("0D");
  if (f32 || f64) {
    const std::string_view digits = text.substr(2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return error == std::errc{} && end == text.data() + text.size() && digits.size() == (f32 ? 8u : 16u) ? f32 ? 32 : 64
                                                                                                         : 0;
  }
  double x;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (error != std::errc{} || end != text.data() + text.size()) return 0;
  value = std::bit_cast<uint64_t>(x);
  return 64;
}

uint64_t TokenReader::number() {
  const bool negative = take("-");
  uint64_t value = 0;
  if (!parse_integer(peek().text, value)) fail("got '" + std::string(peek().text) + "', need an integer");
  next();
  return negative ? uint64_t{0} - value : value;
}

void TokenReader::skip_block() {
  need("{");
  for (int depth = 1; depth;) {
    if (peek().text.empty()) fail("a block that does not end");
    depth += peek().is("{") ? 1 : peek().is("}") ? -1 : 0;
    next();
  }
}

Declaration TokenReader::declaration() {
  Declaration d;
  while (peek().text.starts_with('.')) {
    const std::string_view word = next().text.substr(1);
    const Type type = type_named(word);
    if (word == "reg")
      d.is_register = true;
    else if (word == "global")
      d.space = Space::kGlobal;
    else if (word == "const")
      d.space = Space::kConst;
    else if (word == "shared")
      d.space = Space::kShared;
    else if (word == "local")
      d.space = Space::kLocal;
    else if (word == "param")
      d.space = Space::kParam;
    else if (word == "align")
      d.align = static_cast<uint32_t>(number());
    else if (word == "ptr") {  // .ptr .space .align n: says what the pointer points to
      while (peek().text.starts_with('.')) {
        if (next().is(".align")) number();
      }
    } else if (word == "v2" || word == "v4")
      d.count *= word == "v2" ? 2 : 4;
    else if (type != Type::kNone)
      d.type = type;
    else
      fail("declaration not known: got '." + std::string(word) + "'");
  }
  if (d.space == Space::kParam && peek().is("_")) fail("a parameter without a name");
  d.name = next().text;
  return shape(std::move(d));
}

// What stands after a name: `<n>`, `[n]…`, `= {…}`.
Declaration TokenReader::shape(Declaration first) {
  if (take("<")) {
    first.copies = static_cast<int>(number());
    if (first.copies < 0 || first.copies > 1'000'000)
      fail("a register count: got " + std::to_string(first.copies) + ", need at most 1000000");
    need(">");
  }
  while (take("[")) {
    if (take("]")) {
      first.count = 0;
      continue;
    }
    first.count *= number();
    if (first.bytes() > uint64_t{1} << 32) fail("a variable of more than 4 GiB");
    need("]");
  }
  if (take("=")) {
    int depth = 0;
    do {
      if (take("{")) {
        ++depth;
      } else if (take("}")) {
        --depth;
      } else if (!take(",")) {
        const bool negative = take("-");
        uint64_t value = 0;
        const std::string_view text = peek().text;
        if (!parse_integer(text, value)) {
          const int bits = parse_float(text, value);
          if (bits == 0 || !is_float(first.type))
            fail("an initial value: got '" + std::string(text) + "', need a number");
          if (bits == 64 && size_of(first.type) == 4)
            value = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(value)));
        }
        next();
        if (negative) value = uint64_t{0} - value;
        const size_t size = static_cast<size_t>(size_of(first.type));
        first.initial.resize(first.initial.size() + size);
        std::memcpy(first.initial.data() + first.initial.size() - size, &value, size);
      }
    } while (depth);
    if (first.initial.size() > first.bytes()) fail("more initial values than '" + first.name + "' holds");
  }
  return first;
}

std::vector<Declaration> TokenReader::list() {
  std::vector<Declaration> all;
  if (!take("(")) return all;
  while (!take(")")) {
    all.push_back(declaration());
    if (!peek().is(")")) need(",");
  }
  return all;
}

}  // namespace ingot::ptx
