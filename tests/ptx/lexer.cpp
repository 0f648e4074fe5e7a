// One pass over the text; words and numbers are not told apart here.
#include "ptx/lexer.h"

#include <cctype>

#include "ptx/program.h"

namespace ingot::ptx {
namespace {

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.';
}

}  // namespace

std::vector<Token> tokenize(std::string_view text) {
  std::vector<Token> tokens;
  int line = 1;
  size_t at = 0;
  const auto next = [&](size_t k) { return at + k < text.size() ? text[at + k] : '\0'; };
  while (at < text.size() && text[at] != '\0') {
    const char c = text[at];
    if (c == '\n') ++line;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else if (c == '/' && next(1) == '/') {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (c == '/' && next(1) == '*') {
      const size_t end = text.find("*/", at + 2);
      if (end == std::string_view::npos)
        throw PtxError("ptx: line " + std::to_string(line) + ": a comment that does not end");
      for (; at < end + 2; ++at) line += text[at] == '\n';
    } else if (c == '"') {
      const size_t end = text.find('"', at + 1);
      if (end == std::string_view::npos)
        throw PtxError("ptx: line " + std::to_string(line) + ": a string that does not end");
      tokens.push_back({text.substr(at, end + 1 - at), line});
      at = end + 1;
    } else if (in_word(c)) {
      const size_t begin = at;
      while (at < text.size() && (in_word(text[at]) || (text[at] == ':' && next(1) == ':' && in_word(next(2))))) {
        at += text[at] == ':' ? 2 : 1;
      }
      tokens.push_back({text.substr(begin, at - begin), line});
    } else if (std::string_view("@!{}[]()<>,;:|=+-*").find(c) != std::string_view::npos) {
      tokens.push_back({text.substr(at++, 1), line});
    } else {
      throw PtxError("ptx: line " + std::to_string(line) + ": unexpected character: got '" + std::string(1, c) + "'");
    }
  }
  tokens.push_back({{}, line});
  return tokens;
}

}  // namespace ingot::ptx
