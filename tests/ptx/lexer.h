// PTX text to tokens. A word holds its dots (`ld.global.v2.f32`, `%tid.x`), as operands and modifiers are split later.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ingot::ptx {

struct Token {
  std::string_view text;  // one character of punctuation, a word, a number, or a string with its quotes
  int line = 0;
  bool is(std::string_view s) const { return text == s; }
};

// Comments are dropped; an empty token ends the list. Throws PtxError.
std::vector<Token> tokenize(std::string_view text);

}  // namespace ingot::ptx
