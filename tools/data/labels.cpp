// Names first: every spelling of a sample is collected, then lines are looked up.
#include "data/labels.h"

#include <map>

namespace ingot {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

struct Line {
  std::string_view text;
  int64_t number;
};

// Parts "name label" at the first tab, or else at the first blank.
std::pair<std::string_view, std::string_view> parted(std::string_view line) {
  size_t at = line.find('\t');
  if (at == std::string_view::npos) at = line.find(' ');
  if (at == std::string_view::npos) return {line, {}};
  return {trimmed(line.substr(0, at)), trimmed(line.substr(at))};
}

}  // namespace

Expected<std::vector<std::string>> parse_labels(std::string_view text, const std::vector<std::string>& names,
                                                std::string_view where) {
  const auto error = [&](int64_t line, const std::string& what) {
    return Status(StatusCode::kInvalidArgument, std::string(where) + ", line " + std::to_string(line) + ": " + what);
  };
  std::vector<Line> lines;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.front() != '#') lines.push_back({line, number});
  }

  // Every spelling of a name → sample; a spelling that two samples share names neither.
  constexpr size_t kAmbiguous = SIZE_MAX;
  std::map<std::string, size_t, std::less<>> spelling;
  const auto spell = [&](std::string_view name, size_t sample) {
    const auto [it, fresh] = spelling.emplace(name, sample);
    if (!fresh && it->second != sample) it->second = kAmbiguous;
  };
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view whole = names[i];
    const std::string_view file = whole.substr(whole.rfind('/') == std::string_view::npos ? 0 : whole.rfind('/') + 1);
    spell(whole, i);
    spell(file, i);
    spell(file.substr(0, file.rfind('.')), i);
  }
  const auto sample_of = [&](std::string_view name) {
    const auto it = spelling.find(name);
    return it == spelling.end() ? kAmbiguous : it->second;
  };

  std::vector<std::string> labels(names.size());
  if (!lines.empty() && !parted(lines[0].text).second.empty() && sample_of(parted(lines[0].text).first) != kAmbiguous) {
    std::vector<bool> given(names.size(), false);
    for (const Line& line : lines) {
      const auto [name, label] = parted(line.text);
      const size_t sample = sample_of(name);
      if (sample == kAmbiguous) continue;
      if (given[sample])
        return error(line.number, "sample labelled twice: got '" + std::string(name) + "', need one line per sample");
      given[sample] = true;
      labels[sample] = label;
    }
    for (size_t i = 0; i < names.size(); ++i)
      if (!given[i])
        return Status(StatusCode::kInvalidArgument, std::string(where) + ": sample without a label: got none for '" +
                                                        names[i] + "', need a line 'name label'");
    return labels;
  }
  if (lines.size() != names.size())
    return Status(StatusCode::kInvalidArgument, std::string(where) + ": as many labels as samples are needed: got " +
                                                    std::to_string(lines.size()) + ", need " +
                                                    std::to_string(names.size()) + "; or use lines of 'name label'");
  for (size_t i = 0; i < lines.size(); ++i) labels[i] = lines[i].text;
  return labels;
}

}  // namespace ingot
