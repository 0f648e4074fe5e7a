// Bodies of onnx_support_page.h.
#include "onnx_support_page.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>
#include <sstream>

namespace ingot {
namespace {

struct Count {
  int cases = 0, passed = 0, optimized = 0, plain = 0, bound = 0, open = 0;
  double ulp = 0;
  std::set<int64_t> versions;
  std::set<std::string> fast;
  std::map<std::string, int> reasons;
  void add(const OnnxCase& test, const CaseOutcome& outcome) {
    ++cases;
    passed += outcome.passed();
    optimized += outcome.modes[0].passed;
    plain += outcome.modes[1].passed;
    bound += outcome.passed() && (outcome.modes[0].bound || outcome.modes[1].bound);
    const CaseResult& dynamic = outcome.modes[2];
    open += dynamic.passed && !dynamic.is_static;
    for (const CaseResult& mode : outcome.modes)
      if (outcome.passed()) ulp = std::max(ulp, mode.ulp);
    std::istringstream types(outcome.modes[0].fast);
    for (std::string type; std::getline(types, type, ',');) fast.insert(type);
    if (test.version) versions.insert(test.version);
    if (!outcome.passed()) ++reasons[outcome.reason()];
  }
  std::string main_reason() const {
    if (reasons.empty()) return "";
    const auto most = std::max_element(reasons.begin(), reasons.end(), [](auto& a, auto& b) { return a.second < b.second; });
    std::string text = most->first;
    if (text.size() > 140) text = text.substr(0, text.rfind(' ', 140)) + " …";
    for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    if (reasons.size() > 1) text += " (and " + std::to_string(reasons.size() - 1) + " more)";
    return text;
  }
  // Floats first, from the common to the rare.
  std::string fast_list() const {
    std::vector<std::string> types(fast.begin(), fast.end());
    const auto rank = [](const std::string& type) {
      static constexpr std::string_view kOrder[] = {"f32", "f16", "bf16", "int8"};
      return std::find(std::begin(kOrder), std::end(kOrder), type) - std::begin(kOrder);
    };
    std::stable_sort(types.begin(), types.end(), [&](const std::string& a, const std::string& b) { return rank(a) < rank(b); });
    std::string text;
    for (const std::string& type : types) text += (text.empty() ? "" : ", ") + type;
    return text;
  }
  // To two digits, so that the page does not follow each change of an order of sums.
  std::string ulp_text() const {
    if (ulp == 0) return "0";
    if (ulp < 1) return "< 1";
    const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(ulp)) - 1));
    std::ostringstream text;
    text << static_cast<int64_t>(std::ceil(ulp / unit) * unit);
    return text.str();
  }
  std::string version_list() const {
    std::string text;
    for (int64_t version : versions) text += (text.empty() ? "" : ", ") + std::to_string(version);
    return text;
  }
};

}  // namespace

bool CaseOutcome::passed() const {
  return std::all_of(modes.begin(), modes.end(), [](const CaseResult& result) { return result.passed; });
}

std::string CaseOutcome::reason() const {
  static constexpr std::string_view kNames[] = {"optimised", "unoptimised", "other dims", "constants"};
  const auto failed = std::find_if(modes.begin(), modes.end(), [](const CaseResult& result) { return !result.passed; });
  if (std::none_of(modes.begin(), modes.end(), [](const CaseResult& result) { return result.passed; })) return failed->reason;
  return std::string(kNames[failed - modes.begin()]) + " only: " + failed->reason;
}

Expected<std::map<std::string, std::string>> read_expected_failures(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status(StatusCode::kNotFound, "'" + path + "': cannot be opened");
  std::map<std::string, std::string> list;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    if (tab == std::string::npos || tab + 1 == line.size())
      return Status(StatusCode::kInvalidArgument, "'" + path + "': a line is not case<TAB>reason: got '" + line + "'");
    if (!list.emplace(line.substr(0, tab), line.substr(tab + 1)).second)
      return Status(StatusCode::kInvalidArgument, "'" + path + "': a case is there twice: got '" + line.substr(0, tab) + "'");
  }
  return list;
}

std::string expected_failures_text(const std::vector<OnnxCase>& cases, const std::vector<CaseOutcome>& outcomes,
                                   const std::map<std::string, std::string>& before) {
  std::map<std::string, std::string> lines;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (outcomes[i].passed()) continue;
    const auto known = before.find(cases[i].id());
    const bool by_hand = known != before.end() && known->second.starts_with("by choice: ");
    lines[cases[i].id()] = by_hand ? known->second : outcomes[i].reason();
  }
  std::string text = "# Cases of ONNX's public tests that fail today: case<TAB>reason. One that passes must be removed; onnx_node_tests --update does.\n";
  for (const auto& [id, reason] : lines) text += id + '\t' + reason + '\n';
  return text;
}

std::string support_page(const std::vector<OnnxCase>& cases, const std::vector<CaseOutcome>& outcomes) {
  Count all;
  std::map<std::string, Count> groups, operators;
  for (size_t i = 0; i < cases.size(); ++i) {
    all.add(cases[i], outcomes[i]);
    groups[cases[i].group].add(cases[i], outcomes[i]);
    if (cases[i].group == "node" && !cases[i].op.empty()) operators[cases[i].op].add(cases[i], outcomes[i]);
  }
  std::ostringstream page;
  page << "# ONNX support\n\n"
          "Made by `onnx_node_tests --update` from ONNX's own public tests; not edited by hand. Each case is built and run three times: optimised, as\n"
          "plain reference code without any pass, and optimised with dims left open. Each output is compared with ONNX's tolerance (integers:\n"
          "exactly). What fails, and why, stands case by case in `tests/conformance/onnx_expected_failures.txt`.\n\n"
       << "**" << all.passed << " of " << all.cases << " cases pass** (" << all.optimized << " optimised, " << all.plain << " unoptimised). In " << all.bound
       << " of them an input that decides a\nshape (axes, sizes, limits) is given as a constant of the model, as exporters do. " << all.open
       << " also pass with dims that a profile leaves open,\neach from one less to one more than in the case; in the others the operator's meaning fixes them, or they have none above 1.\n\n"
          "| tests | cases | pass | optimised | unoptimised | with open dims |\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
  for (const auto& [name, count] : groups)
    page << "| " << name << " | " << count.cases << " | " << count.passed << " | " << count.optimized << " | " << count.plain << " | " << count.open << " |\n";
  page << "\n## By operator\n\nVersions are those the tests use, by the opset an operator's meaning dates from; a case whose operator is spelled out as primitives\n"
          "counts for that operator. Every older version since opset 6 is imported too: `tests/cases/onnx_versions.txt` lists them with their own cases.\n"
          "*Fast*: element types in which all steps of some case have more than reference code on a CPU with AVX2 (int8: as layers between\n"
          "quantised values). *Error*: the largest of any case that passes, in units of the last place (of the wanted value, near 0 of a thousandth of the\n"
          "tensor's largest), rounded up to two digits; `0` also where all results are integers.\n\n"
          "| operator | versions | pass | cases | open dims | fast | error, ulp | most frequent reason of the rest |\n| --- | --- | ---: | ---: | ---: | --- | ---: | --- |\n";
  for (const auto& [name, count] : operators)
    page << "| " << name << " | " << count.version_list() << " | " << count.passed << " | " << count.cases << " | " << count.open << " | " << count.fast_list() << " | "
         << (count.passed ? count.ulp_text() : "") << " | " << count.main_reason() << " |\n";
  return page.str();
}

}  // namespace ingot
