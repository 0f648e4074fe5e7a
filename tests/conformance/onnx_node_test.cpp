// onnx_node_tests: all of ONNX's public test cases, or all cases of our own tables. Cases run in forked children, so that a crash or
// a hang is one failure.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "onnx_case.h"
#include "onnx_support_page.h"

namespace {

using namespace ingot;

constexpr unsigned kSecondsPerCase = 300;
constexpr size_t kBatch = 50;
constexpr size_t kLeastOfTable = 40;
constexpr const char* kModeNames[] = {"optimised", "plain", "constants", "dynamic"};  // by CaseMode

struct Flags {
  std::string cases, only, results;
  bool update = false, tables = false;
  std::vector<CaseMode> modes() const {
    if (tables) return {CaseMode::kOptimized, CaseMode::kPlain, CaseMode::kDynamic, CaseMode::kConstants};
    return {CaseMode::kOptimized, CaseMode::kPlain, CaseMode::kDynamic};
  }
  int jobs = 2;
};

// A child runs some of the units; unit u is case u / modes in mode u % modes. It says "b u" before and
// "p u flags ulp fast reason" after each.
struct Child {
  pid_t pid = -1;
  int fd = -1;
  size_t next = 0, end = 0;
  bool inside = false;   // a unit was begun and not ended
  std::string pending;
};

void write_line(int fd, const std::string& line) {
  size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = ::write(fd, line.data() + done, line.size() - done);
    if (count <= 0) ::_exit(3);
    done += static_cast<size_t>(count);
  }
}

void start(Child& child, const std::vector<OnnxCase>& cases, const std::vector<CaseMode>& modes) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  child.pid = ::fork();
  if (child.pid < 0) std::abort();
  if (child.pid == 0) {
    ::close(ends[0]);
    for (size_t unit = child.next; unit < child.end; ++unit) {
      write_line(ends[1], "b " + std::to_string(unit) + "\n");
      ::alarm(kSecondsPerCase);
      const CaseResult result = run_onnx_case(cases[unit / modes.size()], modes[unit % modes.size()]);
      char ulp[40];
      std::snprintf(ulp, sizeof ulp, " %.17g ", result.ulp);
      write_line(ends[1], "p " + std::to_string(unit) + (result.passed ? " 1" : " 0") + (result.bound ? "1" : "0") + (result.is_static ? "1" : "0") + ulp +
                              (result.fast.empty() ? "-" : result.fast) + ' ' + result.reason + "\n");
    }
    ::_exit(0);
  }
  ::close(ends[1]);
  child.fd = ends[0];
  child.inside = false;
  child.pending.clear();
}

void take_lines(Child& child, std::vector<CaseOutcome>& outcomes) {
  size_t end;
  while ((end = child.pending.find('\n')) != std::string::npos) {
    const std::string line = child.pending.substr(0, end);
    child.pending.erase(0, end + 1);
    char* rest = nullptr;
    const size_t unit = std::strtoul(line.c_str() + 2, &rest, 10);
    child.inside = line[0] == 'b';
    child.next = child.inside ? unit : unit + 1;
    if (child.inside) continue;
    const size_t modes = outcomes[0].modes.size();
    CaseResult& result = outcomes[unit / modes].modes[unit % modes];
    result.passed = rest[1] == '1';
    result.bound = rest[2] == '1';
    result.is_static = rest[3] == '1';
    result.ulp = std::strtod(rest + 4, &rest);
    const std::string words = rest + 1;
    const size_t space = words.find(' ');
    result.fast = words.substr(0, space) == "-" ? "" : words.substr(0, space);
    result.reason = words.substr(space + 1);
  }
}

// The child is gone: what it was at has failed, the rest of its batch goes on in a new one.
void finish(Child& child, std::vector<CaseOutcome>& outcomes) {
  int status = 0;
  ::waitpid(child.pid, &status, 0);
  ::close(child.fd);
  child.pid = -1;
  if (child.next >= child.end) return;
  const size_t modes = outcomes[0].modes.size();
  CaseResult& result = outcomes[child.next / modes].modes[child.next % modes];
  result = {};
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) result.reason = "took more than " + std::to_string(kSecondsPerCase) + " s";
  else if (WIFSIGNALED(status)) result.reason = std::string("crashed: ") + strsignal(WTERMSIG(status));
  else result.reason = "crashed: exit status " + std::to_string(WEXITSTATUS(status));
  ++child.next;
}

std::vector<CaseOutcome> run_all(const std::vector<OnnxCase>& cases, const Flags& flags) {
  const std::vector<CaseMode> modes = flags.modes();
  std::vector<CaseOutcome> outcomes(cases.size(), CaseOutcome{std::vector<CaseResult>(modes.size())});
  const size_t units = cases.size() * modes.size();
  size_t given = 0;
  std::vector<Child> children(static_cast<size_t>(flags.jobs));
  while (true) {
    std::vector<pollfd> waits;
    std::vector<size_t> who;
    for (size_t i = 0; i < children.size(); ++i) {
      Child& child = children[i];
      if (child.pid < 0 && child.next >= child.end && given < units) {
        child.next = given;
        child.end = given = std::min(units, given + kBatch);
      }
      if (child.pid < 0 && child.next < child.end) start(child, cases, modes);
      if (child.pid < 0) continue;
      waits.push_back({child.fd, POLLIN, 0});
      who.push_back(i);
    }
    if (waits.empty()) return outcomes;
    if (::poll(waits.data(), waits.size(), -1) < 0) continue;
    for (size_t k = 0; k < waits.size(); ++k) {
      if (!waits[k].revents) continue;
      Child& child = children[who[k]];
      char buffer[4096];
      const ssize_t count = ::read(child.fd, buffer, sizeof buffer);
      if (count > 0) {
        child.pending.append(buffer, static_cast<size_t>(count));
        take_lines(child, outcomes);
      } else {
        finish(child, outcomes);
      }
    }
  }
}

std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

bool put_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  return static_cast<bool>(file << text << std::flush);
}

int usage(const char* what) {
  std::cerr << "onnx_node_tests: " << what << "\nusage: onnx_node_tests [--cases FOLDER] [--only TEXT] [--jobs N] [--results FILE] [--update | --tables]\n"
               "  --only TEXT     cases with TEXT in group/name, each with its outcome; the list of expected failures is not checked\n"
               "  --results FILE  one line for each case and mode\n"
               "  --update        rewrites the list of expected failures and docs/onnx-support.md\n"
               "  --tables        our own tables, which write_table_cases wrote to the cache; no failure is expected\n";
  return 2;
}

// Every case must pass, and no table may shrink.
int report_tables(const std::vector<OnnxCase>& cases, const std::vector<CaseOutcome>& outcomes, bool whole) {
  int wrong = 0;
  std::map<std::string, size_t> counts;
  for (size_t i = 0; i < cases.size(); ++i) {
    ++counts[cases[i].group];
    if (outcomes[i].passed()) continue;
    ++wrong;
    std::printf("FAIL %s: %s\n    %s\n", cases[i].id().c_str(), outcomes[i].reason().c_str(), cases[i].line.c_str());
  }
  for (const auto& [table, count] : counts) {
    if (!whole || count >= kLeastOfTable) continue;
    ++wrong;
    std::printf("FAIL table %s: got %zu cases, need at least %zu\n", table.c_str(), count, kLeastOfTable);
  }
  return wrong || cases.empty() ? 1 : 0;
}

// The page without the cells of the largest errors, which are those of the last --update: ONNX's expected values come from a linear
// algebra library whose last bits depend on where its arrays lie.
std::string without_errors(const std::string& page) {
  constexpr int kErrorCell = 7, kCells = 8;
  std::string kept, line;
  for (std::istringstream lines(page); std::getline(lines, line);) {
    std::vector<size_t> bars;
    for (size_t at = 0; (at = line.find('|', at)) != std::string::npos; ++at)
      if (at == 0 || line[at - 1] != '\\') bars.push_back(at);
    if (bars.size() == kCells + 1) line.erase(bars[kErrorCell - 1], bars[kErrorCell] - bars[kErrorCell - 1]);
    kept += line + '\n';
  }
  return kept;
}

int report(const Flags& flags, const std::vector<OnnxCase>& cases, const std::vector<CaseOutcome>& outcomes) {
  const std::vector<CaseMode> modes = flags.modes();
  size_t passed[4] = {}, both = 0, bound = 0, open = 0;
  for (const CaseOutcome& outcome : outcomes) {
    for (size_t mode = 0; mode < outcome.modes.size(); ++mode) passed[mode] += outcome.modes[mode].passed;
    both += outcome.passed();
    open += outcome.modes[2].passed && !outcome.modes[2].is_static;
    bound += outcome.passed() && (outcome.modes[0].bound || outcome.modes[1].bound);
  }
  if (!flags.results.empty()) {
    std::string text;
    for (size_t i = 0; i < cases.size(); ++i)
      for (size_t mode = 0; mode < outcomes[i].modes.size(); ++mode) {
        const CaseResult& result = outcomes[i].modes[mode];
        text += cases[i].id() + '\t' + kModeNames[static_cast<size_t>(modes[mode])] + '\t' + (!result.passed ? "fail" : result.bound ? "pass bound" : result.is_static ? "static" : "pass") + '\t' + result.reason + '\n';
      }
    if (!put_text(flags.results, text)) return usage("the results cannot be written");
  }
  std::printf("%zu of %zu cases pass (%zu optimised, %zu unoptimised; %zu with shape-giving inputs as constants; %zu %s)\n", both, cases.size(), passed[0], passed[1],
              bound, open, kModeNames[static_cast<size_t>(modes[2])]);
  if (flags.tables) return report_tables(cases, outcomes, flags.only.empty());
  if (!flags.only.empty()) {
    for (size_t i = 0; i < cases.size(); ++i)
      std::printf("%s %s%s%s\n", outcomes[i].passed() ? "pass" : "FAIL", cases[i].id().c_str(), outcomes[i].passed() ? "" : ": ",
                  outcomes[i].passed() ? "" : outcomes[i].reason().c_str());
    return both == cases.size() ? 0 : 1;
  }
  const std::string root = INGOT_SOURCE_DIR, list_path = root + "/tests/conformance/onnx_expected_failures.txt", page_path = root + "/docs/onnx-support.md";
  const std::string page = support_page(cases, outcomes);
  auto expected = read_expected_failures(list_path);
  if (flags.update) {
    const std::map<std::string, std::string> before = expected.ok() ? *expected : std::map<std::string, std::string>();
    if (!put_text(list_path, expected_failures_text(cases, outcomes, before)) || !put_text(page_path, page)) return usage("the list or the page cannot be written");
    std::printf("rewritten: %s, %s\n", list_path.c_str(), page_path.c_str());
    return 0;
  }
  if (!expected.ok()) {
    std::cerr << "onnx_node_tests: " << expected.take_status().message() << '\n';
    return 1;
  }
  int wrong = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto listed = expected->find(cases[i].id());
    if (!outcomes[i].passed() && listed == expected->end()) {
      ++wrong;
      std::printf("FAIL %s: %s\n", cases[i].id().c_str(), outcomes[i].reason().c_str());
    } else if (outcomes[i].passed() && listed != expected->end()) {
      ++wrong;
      std::printf("FAIL %s: passes now, and must be removed from the list of expected failures\n", cases[i].id().c_str());
    }
    if (listed != expected->end()) expected->erase(listed);
  }
  for (const auto& [id, reason] : *expected) {
    ++wrong;
    std::printf("FAIL %s: stands in the list of expected failures, but is no case\n", id.c_str());
  }
  if (without_errors(file_text(page_path)) != without_errors(page)) {
    ++wrong;
    std::printf("FAIL docs/onnx-support.md is out of date; run onnx_node_tests --update\n");
  }
  return wrong ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--update" || flag == "--tables") {
      (flag == "--update" ? flags.update : flags.tables) = true;
      continue;
    }
    if (i + 1 == argc) return usage("unknown option, or its value is missing");
    const std::string value = argv[++i];
    if (flag == "--cases") flags.cases = value;
    else if (flag == "--only") flags.only = value;
    else if (flag == "--results") flags.results = value;
    else if (flag == "--jobs") flags.jobs = std::clamp(std::atoi(value.c_str()), 1, 64);
    else return usage("unknown option");
  }
  if (flags.cases.empty()) {
    const char* cache = std::getenv("INGOT_CACHE");
    const char* home = std::getenv("HOME");
    flags.cases = (cache && *cache ? std::string(cache) : std::string(home ? home : ".") + "/.cache/ingot") + (flags.tables ? "/table_cases" : "/onnx_cases");
  }
  auto cases = read_onnx_cases(flags.cases);
  if (!cases.ok()) {
    std::cerr << "onnx_node_tests: no cases in " << flags.cases << "; run scripts/setup test && tests/conformance/write_"
              << (flags.tables ? "table" : "onnx") << "_cases\n";
    return 1;
  }
  if (!flags.only.empty()) std::erase_if(*cases, [&](const OnnxCase& test) { return test.id().find(flags.only) == std::string::npos; });
  return report(flags, *cases, run_all(*cases, flags));
}
