// The text form of a CalibrationTable. One record a line, words parted by blanks, `#` opens a comment:
//   ingot-calibration 1
//   model <hash>
//   method percentile 99.999
//   samples 500
//   <tensor> <low> <high> <observed min> <observed max> [part…]
//   parts: channels <count> <low>… <high>…, means <count> <clipped mean>… <quantised mean>…
// A tensor name that is not plain is quoted, with \" \\ \n \t \xHH inside. Floats are the shortest text that reads back alike.
#include "ingot/calibrator.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace ingot {
namespace {

constexpr std::string_view kMagic = "ingot-calibration";
constexpr int kVersion = 1;
constexpr size_t kMaxName = 65536;
constexpr char kHex[] = "0123456789abcdef";

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// `blanks`: the text is the rest of its line, so it may hold spaces inside.
void append_quoted(std::string& out, std::string_view word, bool blanks = false) {
  // Bytes from 0x80 up are parts of UTF-8 and stay readable.
  bool plain = !word.empty() && word.front() != ' ' && word.back() != ' ';
  for (const char c : word)
    plain = plain && (static_cast<unsigned char>(c) > ' ' || (blanks && c == ' ')) && c != '"' && c != '\\' && c != '#' && c != 0x7f;
  if (plain) {
    out += word;
    return;
  }
  out += '"';
  for (const char c : word) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < ' ' || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_float(std::string& out, float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  out += ' ';
  out.append(text, end.ptr);
}

void append_channels(std::string& out, const char* part, const std::vector<float>& first, const std::vector<float>& second) {
  if (first.empty() || first.size() != second.size()) return;
  out += std::string(" ") + part + ' ' + std::to_string(first.size());
  for (const auto* list : {&first, &second})
    for (float number : *list) append_float(out, number);
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The words of one line, and errors that name it.
class LineReader {
 public:
  LineReader(std::string_view line, int64_t number) : rest_(line), number_(number) {}

  bool at_end() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    return rest_.empty() || rest_.front() == '#';
  }
  // What is left of the line, without blanks and comment at its end.
  std::string_view remainder() {
    at_end();
    std::string_view text = rest_.substr(0, rest_.find('#'));
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    rest_ = {};
    return text;
  }
  std::string_view plain_word() {
    at_end();
    size_t end = 0;
    while (end < rest_.size() && !is_blank(rest_[end]) && rest_[end] != '#') ++end;
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return word;
  }
  bool is_quoted() { return !at_end() && rest_.front() == '"'; }
  Status word(std::string& out) {
    out.clear();
    if (!is_quoted()) {
      out = plain_word();
    } else {
      rest_.remove_prefix(1);
      INGOT_TRY(quoted(out));
    }
    if (out.size() > kMaxName) return error("name too long", std::to_string(out.size()) + " bytes", "at most 65536");
    return {};
  }
  Status number(float& value, std::string_view what) {
    const std::string_view text = plain_word();
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      return error(std::string(what) + " is not a finite number", show(text), "a number");
    return {};
  }
  Status error(std::string_view what, std::string_view got, std::string_view need) const {
    return {StatusCode::kInvalidArgument, "calibration table, line " + std::to_string(number_) + ": " + std::string(what) +
                                              ": got " + std::string(got) + ", need " + std::string(need)};
  }
  // Quotes untrusted text for a message: short and printable.
  static std::string show(std::string_view text) {
    if (text.empty()) return "nothing";
    std::string shown = "'";
    for (const char c : text.substr(0, 40)) shown += static_cast<unsigned char>(c) < ' ' || c == 0x7f ? '?' : c;
    return shown + (text.size() > 40 ? "…'" : "'");
  }

 private:
  Status quoted(std::string& out) {
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return {};
      if (c != '\\') {
        out += c;
        continue;
      }
      if (rest_.empty()) break;
      const char escape = rest_.front();
      rest_.remove_prefix(1);
      if (escape == 'n') {
        out += '\n';
      } else if (escape == 't') {
        out += '\t';
      } else if (escape == '"' || escape == '\\') {
        out += escape;
      } else if (escape == 'x' && rest_.size() >= 2 && hex_digit(rest_[0]) >= 0 && hex_digit(rest_[1]) >= 0) {
        out += static_cast<char>(hex_digit(rest_[0]) * 16 + hex_digit(rest_[1]));
        rest_.remove_prefix(2);
      } else {
        return error("unknown escape in a quoted name", show(std::string_view(&escape, 1)), "one of \\\" \\\\ \\n \\t \\xHH");
      }
    }
    return error("quoted name does not end", "the end of the line", "a closing quote");
  }

  std::string_view rest_;
  int64_t number_;
};

Status parse_header(LineReader& line) {
  const std::string_view magic = line.plain_word();
  if (magic != kMagic) return line.error("not a calibration table", LineReader::show(magic), "'ingot-calibration 1'");
  const std::string_view version = line.plain_word();
  if (version != std::to_string(kVersion)) {
    Status status = line.error("unknown version", LineReader::show(version), std::to_string(kVersion));
    return {StatusCode::kVersionMismatch, std::string(status.message()) + "; calibrate again"};
  }
  if (!line.at_end()) return line.error("text behind the version", LineReader::show(line.remainder()), "the end of the line");
  return {};
}

// Two lists of one number per channel; numbers are read as they come, so a false count cannot make it allocate.
Status parse_channels(LineReader& line, CalibrationRange& range) {
  const std::string_view keyword = line.plain_word();
  const bool is_means = keyword == "means";
  if (!is_means && keyword != "channels")
    return line.error("text behind the range", LineReader::show(keyword), "'channels', 'means' or the end of the line");
  std::vector<float>& first = is_means ? range.clipped_mean : range.channel_low;
  std::vector<float>& second = is_means ? range.quantized_mean : range.channel_high;
  if (!first.empty()) return line.error("part given twice", LineReader::show(keyword), "one");
  const std::string_view digits = line.plain_word();
  int64_t channels = 0;
  const auto [last, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), channels);
  if (digits.empty() || problem != std::errc() || last != digits.data() + digits.size() || channels < 1)
    return line.error("channel count is not a whole number", LineReader::show(digits), "1 or more");
  for (auto* list : {&first, &second})
    for (int64_t i = 0; i < channels; ++i) {
      float number = 0;
      INGOT_TRY(line.number(number, is_means ? "channel mean" : "end of a channel"));
      list->push_back(number);
    }
  return {};
}

Status parse_tensor(LineReader& line, std::string name, CalibrationTable& table) {
  CalibrationRange range;
  INGOT_TRY(line.number(range.low, "low end"));
  INGOT_TRY(line.number(range.high, "high end"));
  INGOT_TRY(line.number(range.observed_min, "observed minimum"));
  INGOT_TRY(line.number(range.observed_max, "observed maximum"));
  while (!line.at_end()) INGOT_TRY(parse_channels(line, range));
  if (!(range.low <= 0 && range.high >= 0)) {
    std::string got = "[";
    append_float(got, range.low);
    append_float(got, range.high);
    return line.error("range does not hold 0", got + " ]", "low <= 0 <= high");
  }
  const std::string shown = LineReader::show(name);
  if (!table.ranges.emplace(std::move(name), range).second) return line.error("tensor named twice", shown, "one line per tensor");
  return {};
}

}  // namespace

std::string_view to_string(CalibrationMethod method) {
  switch (method) {
    case CalibrationMethod::kMinMax: return "minmax";
    case CalibrationMethod::kPercentile: return "percentile";
    case CalibrationMethod::kEntropy: return "entropy";
    case CalibrationMethod::kMeanSquaredError: return "mse";
  }
  return "unknown";
}

std::string CalibrationTable::to_text() const {
  std::string text = std::string(kMagic) + ' ' + std::to_string(kVersion) + "\nmodel ";
  append_quoted(text, model_hash);
  text += "\nmethod ";
  append_quoted(text, method, true);
  text += "\nsamples " + std::to_string(samples) + "\n# tensor low high observed_min observed_max\n";
  for (const auto& [name, range] : ranges) {
    // A tensor called like a header field is quoted, which the parser takes for a name.
    if (name == "model" || name == "method" || name == "samples") {
      text += '"' + name + '"';
    } else {
      append_quoted(text, name);
    }
    append_float(text, range.low);
    append_float(text, range.high);
    append_float(text, range.observed_min);
    append_float(text, range.observed_max);
    append_channels(text, "channels", range.channel_low, range.channel_high);
    append_channels(text, "means", range.clipped_mean, range.quantized_mean);
    text += '\n';
  }
  return text;
}

Expected<CalibrationTable> CalibrationTable::parse(std::string_view text) {
  CalibrationTable table;
  bool header = false, model = false, method = false, samples = false;
  int64_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    LineReader line(text.substr(0, end), ++number);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.at_end()) continue;
    if (!header) {
      INGOT_TRY(parse_header(line));
      header = true;
      continue;
    }
    const bool quoted = line.is_quoted();
    std::string word;
    INGOT_TRY(line.word(word));
    bool* field = quoted ? nullptr : word == "model" ? &model : word == "method" ? &method : word == "samples" ? &samples : nullptr;
    if (!field) {
      INGOT_TRY(parse_tensor(line, std::move(word), table));
      continue;
    }
    if (*field) return line.error("field given twice", LineReader::show(word), "one line");
    *field = true;
    if (field == &method) {
      if (line.is_quoted()) {
        INGOT_TRY(line.word(table.method));
      } else {
        table.method = line.remainder();
      }
    } else if (field == &model) {
      INGOT_TRY(line.word(table.model_hash));
    } else {
      const std::string_view digits = line.plain_word();
      const auto [last, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), table.samples);
      if (digits.empty() || problem != std::errc() || last != digits.data() + digits.size() || table.samples < 0)
        return line.error("sample count is not a whole number", LineReader::show(digits), "0 or more");
    }
    if (!line.at_end()) return line.error("text behind the field", LineReader::show(line.remainder()), "the end of the line");
  }
  if (!header)
    return LineReader({}, number + 1).error("not a calibration table", "no header", "'ingot-calibration 1'");
  return table;
}

}  // namespace ingot
