// A recursive-descent reader of one line at a time.
#include "builder/graph/text_statement.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace ingot {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' ||
         c == '-';
}

class LineReader {
 public:
  LineReader(std::string_view text, int line) : text_(text), line_(line) {}

  bool at_end() {
    skip_blanks();
    return place_ == text_.size() || text_[place_] == '#';
  }

  Expected<TextStatement> statement() {
    TextStatement result;
    result.line = line_;
    if (peek() != '%' && peek() != '_') {
      const std::string keyword = word();
      if (keyword == "body" || keyword == "end") {
        result.kind = keyword == "body" ? TextStatement::kBody : TextStatement::kEnd;
        return finish(std::move(result));
      }
      if (keyword != "output") return error("unknown statement", "'%name = …', 'output %name', 'body' or 'end'");
      result.kind = TextStatement::kOutput;
      INGOT_TRY(operands(result.operands));
      return finish(std::move(result));
    }
    INGOT_TRY(operands(result.results));
    INGOT_TRY(expect('='));
    const std::string head = word();
    if (head == "input" || head == "const") {
      result.kind = head == "input" ? TextStatement::kInput : TextStatement::kConst;
      if (result.results.size() != 1 || result.results[0].name.empty()) return error("names before '='", "one name");
      INGOT_TRY(type(result));
      if (result.kind == TextStatement::kConst) INGOT_TRY(data(result.data));
      if (result.kind == TextStatement::kConst && peek() == ':') INGOT_TRY(storage(result));
      return finish(std::move(result));
    }
    INGOT_TRY(op(head, result));
    return finish(std::move(result));
  }

 private:
  void skip_blanks() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\t' || text_[place_] == '\r')) ++place_;
  }
  char peek() {
    skip_blanks();
    return place_ < text_.size() ? text_[place_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++place_;
    return true;
  }
  Status error(const std::string& what, const std::string& need) {
    const std::string_view rest = text_.substr(std::min(place_, text_.size()), 20);
    return Status(StatusCode::kInvalidArgument,
                  "graph text line " + std::to_string(line_) + ": " + what + ": got '" + std::string(rest) + "', need " + need);
  }
  Status expect(char c) { return accept(c) ? Status() : error("unexpected text", std::string("'") + c + "'"); }
  Expected<TextStatement> finish(TextStatement statement) {
    if (!at_end()) return error("text after the statement", "end of line");
    return statement;
  }

  std::string word() {
    skip_blanks();
    const size_t begin = place_;
    while (place_ < text_.size() && is_name_char(text_[place_])) ++place_;
    return std::string(text_.substr(begin, place_ - begin));
  }

  Status quoted(std::string& out) {  // after the opening quote
    while (place_ < text_.size() && text_[place_] != '"') {
      if (text_[place_] == '\\' && place_ + 1 < text_.size()) ++place_;
      out += text_[place_++];
    }
    return expect('"');
  }
  Status name(std::string& out) {
    if (accept('"')) INGOT_TRY(quoted(out));
    else out = word();
    return out.empty() ? error("empty name", "a name") : Status();
  }

  Status operand(TextOperand& out) {
    const char c = peek();
    if (c == '_') return ++place_, Status();
    if (c == '-' || c == '.' || (c >= '0' && c <= '9')) {
      TextNumber value;
      INGOT_TRY(number(value));
      out.literal = value.real;
      return Status();
    }
    INGOT_TRY(expect('%'));
    INGOT_TRY(name(out.name));
    // A mark follows without a blank, so that ` : u8` stays a storage.
    while (place_ < text_.size() && text_[place_] == ':') {
      ++place_;
      const std::string mark = word();
      if (mark == "const") out.constant = true;
      else if (mark == "once") out.once = true;
      else return error("unknown mark '" + mark + "'", "const or once");
    }
    if (place_ < text_.size() && text_[place_] == '?') ++place_, out.optional = true;
    return Status();
  }
  Status operands(std::vector<TextOperand>& out) {
    do {
      INGOT_TRY(operand(out.emplace_back()));
    } while (accept(','));
    return Status();
  }

  Status number(TextNumber& out) {
    skip_blanks();
    const size_t begin = place_;
    while (place_ < text_.size() && (is_name_char(text_[place_]) || text_[place_] == '+')) ++place_;
    const std::string digits(text_.substr(begin, place_ - begin));
    char* end = nullptr;
    out.real = std::strtod(digits.c_str(), &end);
    if (digits.empty() || *end) return place_ = begin, error("malformed number", "a number");
    if (digits.find_first_not_of("-0123456789") == std::string::npos) {
      errno = 0;
      out.whole = std::strtoll(digits.c_str(), &end, 10);
      out.is_whole = errno == 0;
    }
    return Status();
  }
  Status list(std::vector<TextNumber>& out) {
    INGOT_TRY(expect('['));
    while (!accept(']')) {
      if (!out.empty()) INGOT_TRY(expect(','));
      INGOT_TRY(number(out.emplace_back()));
    }
    return Status();
  }

  Status type(TextStatement& out) {
    const std::string dtype = word();
    const auto parsed = parse_data_type(dtype);
    if (!parsed) return error("unknown element type '" + dtype + "'", "f32, s8, …");
    out.dtype = *parsed;
    INGOT_TRY(expect('['));
    if (accept(']')) return Status();
    do {
      auto& dim = out.dims.emplace_back();
      do {
        int64_t value = 0;
        skip_blanks();
        const size_t begin = place_;
        while (place_ < text_.size() && text_[place_] >= '0' && text_[place_] <= '9' && place_ - begin < 15)
          value = value * 10 + (text_[place_++] - '0');
        if (place_ == begin) {
          if (out.dims.size() == 1 && dim.empty() && word() == "scalar") return out.dims.clear(), expect(']');
          return error("malformed dim", "a number");
        }
        dim.push_back(value);
      } while (accept(':'));
      if (dim.size() == 2 || dim.size() > 4) return error("malformed dim", "one number or min:opt:max");
    } while (accept('x'));
    if (out.dims.size() > static_cast<size_t>(Shape::kMaxRank)) return error("too many dims", "at most 8");
    return expect(']');
  }

  Status data(TextData& out) {
    if (peek() == '[') return out.kind = TextData::kList, list(out.numbers);
    const std::string kind = word();
    if (kind == "any") return out.kind = TextData::kAny, Status();
    if (kind != "fill" && kind != "random" && kind != "hash")
      return error("unknown constant data '" + kind + "'", "[…], fill(value), random(seed) or any");
    INGOT_TRY(expect('('));
    if (kind == "hash") {
      out.kind = TextData::kHash;
      word();
    } else {
      out.kind = kind == "fill" ? TextData::kFill : TextData::kRandom;
      do {
        INGOT_TRY(number(out.numbers.emplace_back()));
      } while (accept(','));
      const size_t count = out.numbers.size();
      if (kind == "fill" ? count != 1 : count != 1 && count != 3) return error("wrong number of values", "fill(v), random(seed[, low, high])");
    }
    return expect(')');
  }

  Status op(const std::string& first, TextStatement& out) {
    std::string op_name = first;
    while (true) {
      const size_t dot = op_name.find('.');
      if (dot != std::string::npos) out.fields.push_back({"function", op_name.substr(dot + 1)});
      const auto kind = parse_op_kind(op_name.substr(0, dot));
      if (!kind) return error("unknown op '" + op_name + "'", "a name from ops.inc");
      out.ops.push_back(*kind);
      if (!accept('|')) break;
      op_name = word();
    }
    INGOT_TRY(expect('('));
    if (!accept(')')) {
      INGOT_TRY(operands(out.operands));
      INGOT_TRY(expect(')'));
    }
    if (accept('{') && !accept('}')) {
      do {
        INGOT_TRY(field(out));
      } while (accept(','));
      INGOT_TRY(expect('}'));
    }
    if (accept('@')) INGOT_TRY(name(out.node_name));
    if (peek() == ':') INGOT_TRY(storage(out));
    return Status();
  }

  Status field(TextStatement& out) {
    Field field;
    field.name = word();
    INGOT_TRY(expect('='));
    if (accept('*')) return out.free_fields.push_back(field.name), Status();
    if (accept('"')) {
      std::string value;
      INGOT_TRY(quoted(value));
      field.value = std::move(value);
    } else if (peek() == '[') {
      std::vector<TextNumber> numbers;
      INGOT_TRY(list(numbers));
      std::vector<int64_t> whole;
      std::vector<double> real;
      for (const TextNumber& n : numbers) {
        if (n.is_whole) whole.push_back(n.whole);
        real.push_back(n.real);
      }
      if (whole.size() == real.size()) field.value = std::move(whole);
      else field.value = std::move(real);
    } else {
      TextNumber value;
      INGOT_TRY(number(value));
      if (value.is_whole) field.value = value.whole;
      else field.value = value.real;
    }
    out.fields.push_back(std::move(field));
    return Status();
  }

  // ": u8 s=0.02 z=3, s64": `_` keeps what the type rule says.
  Status storage(TextStatement& out) {
    INGOT_TRY(expect(':'));
    do {
      auto& slot = out.storage.emplace_back();
      const std::string dtype = word();
      if (dtype == "_") continue;
      const auto parsed = parse_data_type(dtype);
      if (!parsed) return error("unknown element type '" + dtype + "'", "u8, s8, …");
      slot = TextStorage{*parsed, {}};
      while (peek() != ',' && !at_end()) INGOT_TRY(quant(*slot));
      if (slot->quant && (slot->quant->scales.empty() || slot->quant->scales.size() != slot->quant->zero_points.size()))
        return error("scales and zero points differ in number", "as many of each");
    } while (accept(','));
    if (out.storage.size() > out.results.size()) return error("more storages than values", "one for each value");
    return Status();
  }
  Status quant(TextStorage& out) {
    const std::string key = word();
    if (!out.quant) out.quant.emplace();
    QuantParams& quant = *out.quant;
    if (key == "trained") return quant.trained = true, Status();
    if (key != "s" && key != "z" && key != "axis") return error("unknown storage key '" + key + "'", "s=, z=, axis= or trained");
    INGOT_TRY(expect('='));
    std::vector<TextNumber> numbers;
    if (peek() == '[') INGOT_TRY(list(numbers));
    else INGOT_TRY(number(numbers.emplace_back()));
    for (const TextNumber& n : numbers) {
      if (key == "s") quant.scales.push_back(static_cast<float>(n.real));
      if (key == "z") quant.zero_points.push_back(static_cast<int32_t>(n.whole));
      if (key == "axis") quant.axis = static_cast<int>(n.whole);
    }
    if (quant.zero_points.size() < quant.scales.size() && key == "s") quant.zero_points.resize(quant.scales.size(), 0);
    if (key == "z")  // instead of the zeros that came with s=
      quant.zero_points.erase(quant.zero_points.begin(), quant.zero_points.end() - static_cast<std::ptrdiff_t>(numbers.size()));
    return Status();
  }

  std::string_view text_;
  int line_;
  size_t place_ = 0;
};

}  // namespace

Expected<std::vector<TextStatement>> parse_statements(std::string_view text) {
  std::vector<TextStatement> statements;
  for (int line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    LineReader reader(text.substr(0, end), line);
    if (!reader.at_end()) {
      INGOT_ASSIGN(auto statement, reader.statement());
      statements.push_back(std::move(statement));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return statements;
}

std::string quoted_value_name(std::string_view name) {
  bool bare = !name.empty();
  for (char c : name) bare = bare && is_name_char(c);
  if (bare) return '%' + std::string(name);
  std::string text = "%\"";
  for (char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace ingot
