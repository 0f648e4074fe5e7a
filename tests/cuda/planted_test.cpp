// Faults planted in the shipped kernels: lines of their PTX changed one at a time. Each faulty kernel runs problems of the corpus in a process
// of its own, and has to be found, by a check of the interpreter or by its results. New kernels are taken in by themselves.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>

#include "conformance/tactic_check.h"
#include "cuda/stand_in.h"
#include "runtime/device_backend.h"

// The library's images, under another name: ours can be replaced.
#define INGOT_CUDA_PTX_ONLY
#define module_images built_images
#include "runtime/cuda/modules.cpp"
#undef module_images

namespace ingot {
namespace {

std::map<std::string, std::string> replaced;  // module to PTX

}  // namespace

namespace cuda {

std::span<const ModuleImage> module_images() {
  static std::vector<ModuleImage> images;
  if (images.empty()) {
    for (const ModuleImage& built : built_images()) {
      const auto text = replaced.find(std::string(built.module));
      if (text == replaced.end()) images.push_back(built);
      else images.push_back({built.module, {reinterpret_cast<const unsigned char*>(text->second.c_str()), text->second.size() + 1}});
    }
  }
  return images;
}

}  // namespace cuda

namespace {

constexpr double kMostProducts = 3e6;  // of one run
constexpr rlim_t kMostSeconds = 60;    // of the processor, for one process: what takes more has no end
constexpr size_t kTrialsEach = 12, kPlacesEach = 3;

struct Trial {
  const TestProblem* problem;
  const Tactic* tactic;
  bool small = false;
  double cost = 0;
};

// Kinds of faults: what is looked for in a line, and what stands there instead. From planted.txt, with the share that has to be found.
struct Kind {
  std::string name, marker;  // marker: a quick look before the expression is tried
  std::regex pattern;
  std::string fault;
  int least_percent;  // below 100 where some are harmless, as another bound of a loop whose steps fit anyway
};

struct Table {
  std::vector<Kind> kinds;
  int least_percent_run = 0;  // of all instructions of the kernels, by cheap problems
};

const Table& table() {
  static const Table all = [] {
    Table made;
    std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cuda/planted.txt");
    EXPECT_TRUE(file.is_open());
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::vector<std::string> cells(1);
      for (const char c : line) {
        if (c == '\t') cells.emplace_back();
        else cells.back().push_back(c);
      }
      if (cells.size() == 2 && cells[0] == "run") made.least_percent_run = std::stoi(cells[1]);
      else if (cells.size() == 5) made.kinds.push_back({cells[0], cells[2], std::regex(cells[3]), cells[4], std::stoi(cells[1])});
      else ADD_FAILURE() << "planted.txt: got " << cells.size() << " cells in '" << line << "', need 5, or 2 of run";
    }
    return made;
  }();
  return all;
}

struct Fault {
  std::string module, kernel;
  const Kind* kind;
  size_t line;  // of the module's text, from 0
  std::string text;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The PTX of one module by lines, and which of them each kernel has.
struct Text {
  std::vector<std::string> lines;
  std::map<std::string, std::pair<size_t, size_t>> kernels;  // first line, and the one behind the last

  explicit Text(std::string_view ptx) : lines(lines_of(ptx)) {
    const std::string entry = ".visible .entry ";
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].starts_with(entry)) continue;
      const std::string name = lines[i].substr(entry.size(), lines[i].find('(') - entry.size());
      size_t end = i;
      while (end < lines.size() && lines[end] != "}") ++end;
      kernels[name] = {i, end + 1};
      i = end;
    }
  }
  // The text with only these kernels, which is faster to read, and with one line changed.
  std::string with(const std::set<std::string>& wanted, const Fault* fault) const {
    std::vector<bool> keep(lines.size(), true);
    for (const auto& [name, span] : kernels)
      if (!wanted.count(name)) std::fill(keep.begin() + static_cast<std::ptrdiff_t>(span.first), keep.begin() + static_cast<std::ptrdiff_t>(span.second), false);
    std::string text;
    for (size_t i = 0; i < lines.size(); ++i)
      if (keep[i]) text += (fault && fault->line == i ? fault->text : lines[i]) + "\n";
    return text;
  }
};

const std::map<std::string, Text>& texts() {
  static const std::map<std::string, Text> all = [] {
    std::map<std::string, Text> made;
    for (const cuda::ModuleImage& image : cuda::built_images())
      made.emplace(std::string(image.module), Text({reinterpret_cast<const char*>(image.bytes.data()), image.bytes.size() - 1}));
    return made;
  }();
  return all;
}

// Lines of a kernel, from 0, with the trials that run them, the cheap ones first.
using Reached = std::map<size_t, std::vector<size_t>>;

// Of each kind up to kPlacesEach lines of a kernel that some trial runs, spread over them.
std::vector<Fault> faults_of(const std::string& module, const std::string& kernel, const Reached& reached) {
  const Text& text = texts().at(module);
  const auto [begin, end] = text.kernels.at(kernel);
  std::vector<Fault> all;
  for (const Kind& kind : table().kinds) {
    std::vector<Fault> found;
    for (size_t i = begin; i < end; ++i) {
      if (text.lines[i].find(kind.marker) == std::string::npos || !reached.count(i)) continue;
      std::string changed = std::regex_replace(text.lines[i], kind.pattern, kind.fault, std::regex_constants::format_first_only);
      if (changed != text.lines[i]) found.push_back({module, kernel, &kind, i, std::move(changed)});
    }
    const size_t count = std::min(kPlacesEach, found.size());
    for (size_t k = 0; k < count; ++k) all.push_back(found[(2 * k + 1) * found.size() / (2 * count)]);
  }
  return all;
}

// Forks; the child's result is its exit status.
template <class F>
pid_t in_child(F f) {
  std::cout.flush();
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit seconds{kMostSeconds, kMostSeconds};
    ::setrlimit(RLIMIT_CPU, &seconds);
    ::_exit(f());
  }
  return child;
}

DeviceInfo device() {
  DeviceInfo info = *device_of_target("cuda-sm_80");
  info.allow_f16 = info.allow_bf16 = true;
  info.generated = false;  // there is nothing to plant in before it is generated
  return info;
}

Expected<ReferenceRun> reference(const Trial& run) {
  // As in cuda_tactics_test.cpp: the reference of attention in halves is given them rounded.
  const bool rounds = kind_of(run.problem->params) == OpKind::kAttention && run.tactic->info().arithmetic == DataType::kF16;
  return run_reference(*run.problem, run.small ? small_shapes(*run.problem) : max_shapes(*run.problem), rounds ? 3 : 0);
}

// Whether a run is as it should be.
bool passes(const Trial& run, const ReferenceRun& wanted) {
  auto loaded = cuda::GpuTactic::load(*run.problem, *run.tactic, device());
  if (!loaded.ok()) return false;
  const auto results = loaded->run(wanted);
  return results.ok() && compare(*run.problem, wanted, *results, run.tactic->info().arithmetic).empty();
}

// What each trial runs, by kernel; found in a child, since the driver must not be there before the forks.
std::map<std::string, Reached> reached_by(const std::vector<Trial>& trials) {
  const std::string path = testing::TempDir() + "ingot_lines_of_trials." + std::to_string(::getpid());
  const pid_t child = in_child([&] {
    std::ofstream out(path);
    int wrong = 0;
    for (size_t i = 0; i < trials.size(); ++i) {
      const auto wanted = reference(trials[i]);
      if (!wanted.ok() || !passes(trials[i], *wanted)) {
        std::cerr << trials[i].tactic->info().name << " does not pass: " << trials[i].problem->text << "\n";
        wrong = 1;
      }
      std::istringstream kernels(cuda::stand_in_function<const char*()>("fake_cuda_kernels")());
      for (std::string line; std::getline(kernels, line);) {
        const std::string name = line.substr(0, line.find(' '));
        out << name << " " << i << " " << cuda::stand_in_function<const char*(const char*)>("fake_cuda_lines")(name.c_str()) << "\n";
      }
      cuda::stand_in_function<void()>("fake_cuda_reset")();
    }
    out.close();
    return wrong;
  });
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "the kernels as they are do not pass";
  std::map<std::string, Reached> found;
  std::ifstream in(path);
  for (std::string text; std::getline(in, text);) {
    std::istringstream line(text);
    std::string kernel;
    size_t trial = 0;
    line >> kernel >> trial;
    for (size_t number = 0; line >> number;) found[kernel][number - 1].push_back(trial);
  }
  std::remove(path.c_str());
  for (auto& [name, lines] : found)
    for (auto& [line, list] : lines) std::stable_sort(list.begin(), list.end(), [&](size_t a, size_t b) { return trials[a].cost < trials[b].cost; });
  return found;
}

std::vector<Trial> cheap_trials(const std::vector<TestProblem>& problems) {
  std::vector<Trial> trials;
  for (const TestProblem& problem : problems) {
    for (const bool small : {false, true}) {
      Trial run{&problem, nullptr, small, 0};
      const std::vector<Shape> shapes = small ? small_shapes(problem) : max_shapes(problem);
      if (small && std::equal(shapes.begin(), shapes.end(), max_shapes(problem).begin())) continue;
      // Without elements hardly a line of a kernel runs.
      if (std::any_of(shapes.begin(), shapes.end(), [](const Shape& shape) { return shape.elements() == 0; })) continue;
      for (const Shape& shape : shapes) run.cost += static_cast<double>(shape.elements());
      if (problem.multiply_adds() > 0) run.cost += problem.multiply_adds();
      if (run.cost > kMostProducts) continue;
      for (const Tactic* tactic : TacticRegistry::builtin().for_op(kind_of(problem.params), Backend::kCuda)) {
        if (!tactic->supports(problem.problem(device()))) continue;
        run.tactic = tactic;
        trials.push_back(run);
      }
    }
  }
  return trials;
}

struct Corpus {
  std::vector<TestProblem> problems = all_problems();
  std::vector<Trial> trials = cheap_trials(problems);
  std::map<std::string, Reached> by_kernel = reached_by(trials);
};
const Corpus& corpus() {
  static const Corpus* const made = [] {
    ::setenv("FAKE_CUDA_QUIET", "1", 1);
    ::setenv("FAKE_CUDA_THREADS", "1", 1);
    return new Corpus;
  }();
  return *made;
}

// Some of the trials that run a line: cheap ones, and others spread over the rest.
std::vector<size_t> some_of(const std::vector<size_t>& all) {
  std::vector<size_t> some;
  if (all.size() <= kTrialsEach) return all;
  for (size_t k = 0; k < kTrialsEach; ++k) some.push_back(all[k < kTrialsEach / 2 ? k : k * (all.size() - 1) / (kTrialsEach - 1)]);
  return some;
}

TEST(PlantedInShippedKernels, AreFound) {
  const auto& trials = corpus().trials;
  const auto& by_kernel = corpus().by_kernel;
  std::map<size_t, std::set<std::string>> kernels_of;  // of a trial
  for (const auto& [kernel, lines] : by_kernel)
    for (const auto& [line, list] : lines)
      for (const size_t i : list) kernels_of[i].insert(kernel);
  std::map<size_t, ReferenceRun> wanted;
  std::map<const Kind*, std::pair<int, int>> counts;  // found, planted
  int planted = 0, missed = 0;
  // Two at a time.
  std::map<pid_t, Fault> running;
  const auto reap = [&] {
    int status = 0;
    const pid_t child = ::waitpid(-1, &status, 0);
    const auto it = running.find(child);
    if (it == running.end()) return;
    const Fault& fault = it->second;
    auto& [hits, all] = counts[fault.kind];
    ++all;
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGXCPU && WTERMSIG(status) != SIGKILL) {
      ADD_FAILURE() << fault.kernel << ": " << fault.kind->name << ": the interpreter ended by signal " << WTERMSIG(status);
    } else if (status != 0) {
      ++hits;
    } else {
      ++missed;
      std::cout << fault.kernel << ": " << fault.kind->name << ": line " << fault.line + 1 << ": " << texts().at(fault.module).lines[fault.line] << " -> " << fault.text << "\n";
    }
    running.erase(it);
  };
  for (const auto& [module, text] : texts()) {
    for (const auto& [kernel, span] : text.kernels) {
      const auto reached = by_kernel.find(kernel);
      if (reached == by_kernel.end()) {
        std::cout << kernel << ": no cheap problem launches it\n";
        continue;
      }
      // Without a fault a kernel passes: what is found below is the fault. Where other kernels of the module are needed, it is taken whole.
      const size_t any = reached->second.begin()->second[0];
      auto kept = kernels_of[any];
      const auto sound = [&] {
        int status = 0;
        ::waitpid(in_child([&] {
                    replaced[module] = text.with(kept, nullptr);
                    const auto run = reference(trials[any]);
                    return run.ok() && passes(trials[any], *run) ? 0 : 1;
                  }),
                  &status, 0);
        return status == 0;
      };
      const bool alone = sound();
      if (!alone) {
        for (const auto& [name, place] : text.kernels) kept.insert(name);
        EXPECT_TRUE(sound()) << kernel << " does not pass as it is";
      }
      for (Fault& fault : faults_of(module, kernel, reached->second)) {
        const std::vector<size_t> some = some_of(reached->second.at(fault.line));
        std::set<std::string> together = kept;
        together.insert(kernel);
        for (const size_t i : some) {
          together.insert(kernels_of[i].begin(), kernels_of[i].end());
          if (wanted.count(i)) continue;
          auto run = reference(trials[i]);
          ASSERT_TRUE(run.ok());
          wanted.emplace(i, *std::move(run));
        }
        ++planted;
        if (running.size() == 2) reap();
        const pid_t child = in_child([&] {
          replaced[module] = text.with(together, &fault);
          for (const size_t i : some)
            if (!passes(trials[i], wanted.at(i))) return 1;
          return 0;
        });
        running.emplace(child, std::move(fault));
      }
      while (!running.empty()) reap();
    }
  }
  for (const Kind& kind : table().kinds) {
    const auto [hits, all] = counts[&kind];
    std::cout << kind.name << " (" << kind.marker << "): " << hits << " of " << all << " found\n";
    EXPECT_GE(hits * 100, all * kind.least_percent) << kind.name << " (" << kind.marker << "): got " << hits << " of " << all << ", need " << kind.least_percent << " %";
  }
  std::cout << planted << " faults planted, " << planted - missed << " found\n";
  EXPECT_GE(planted - missed, 400);
}

// Code of the kernels that no problem of the corpus runs is code that nothing tests: says which stores, products and barriers that are.
TEST(ShippedKernels, AreRunByTheCorpus) {
  const auto& by_kernel = corpus().by_kernel;
  size_t total = 0, run = 0;
  for (const auto& [module, text] : texts()) {
    for (const auto& [kernel, span] : text.kernels) {
      const auto reached = by_kernel.find(kernel);
      int unrun = 0;
      for (size_t i = span.first; i < span.second; ++i) {
        const std::string& line = text.lines[i];
        if (!line.starts_with("\t") || line.starts_with("\t.") || line.starts_with("\t//") || line == "\tret;") continue;
        const bool ran = reached != by_kernel.end() && reached->second.count(i);
        ++total;
        run += ran;
        unrun += !ran && (line.find("st.global") != std::string::npos || line.find("mma.sync") != std::string::npos || line.find("bar.sync") != std::string::npos);
      }
      if (unrun) std::cout << kernel << ": " << unrun << " stores, products and barriers that no cheap problem runs\n";
    }
  }
  std::cout << run << " of " << total << " instructions are run\n";
  EXPECT_GE(run * 100, total * static_cast<size_t>(table().least_percent_run));
}

}  // namespace
}  // namespace ingot
