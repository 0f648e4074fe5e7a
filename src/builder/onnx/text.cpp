// Bodies of text.h.
#include "builder/onnx/text.h"

#include <cstdint>

namespace ingot {
namespace {

// Bytes of the UTF-8 sequence that starts at `i`, 0 if there is none.
size_t utf8_length(std::string_view text, size_t i) {
  const auto byte = [&](size_t k) { return k < text.size() ? static_cast<uint8_t>(text[k]) : uint8_t{0}; };
  const auto continues = [&](size_t k) { return (byte(k) & 0xC0) == 0x80; };
  const uint8_t first = byte(i);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(i + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (!continues(i + 1) || !continues(i + 2)) return 0;
    const bool overlong = first == 0xE0 && byte(i + 1) < 0xA0;
    const bool surrogate = first == 0xED && byte(i + 1) >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (!continues(i + 1) || !continues(i + 2) || !continues(i + 3)) return 0;
    const bool overlong = first == 0xF0 && byte(i + 1) < 0x90;
    const bool beyond = first == 0xF4 && byte(i + 1) >= 0x90;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

constexpr size_t kLongestShown = 160;

}  // namespace

bool is_valid_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = utf8_length(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string printable(std::string_view name) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (size_t i = 0; i < name.size();) {
    if (out.size() > kLongestShown) {
      out += "…";
      break;
    }
    const size_t length = utf8_length(name, i);
    const auto byte = static_cast<uint8_t>(name[i]);
    if (length == 0 || byte < 0x20 || byte == 0x7F) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
      ++i;
    } else {
      out += name.substr(i, length);
      i += length;
    }
  }
  return out;
}

std::string quoted(std::string_view name) { return "'" + printable(name) + "'"; }

}  // namespace ingot
