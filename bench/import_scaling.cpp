// How the time and memory of a build grow with the number of nodes: every stage and every pass, at 1,000 to 100,000 nodes, for
// families of made models. Each measurement has a process of its own. Prints a page in Markdown.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <sstream>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "builder/build_report.h"
#include "builder/graph/graph_verifier.h"
#include "builder/onnx/import_model.h"
#include "builder/passes/passes.h"
#include "builder/plan/emit_plan.h"
#include "builder/tune/select_tactics.h"
#include "cli.h"
#include "runtime/cpu/cpu_features.h"
#include "runtime/format/engine_file.h"
#include "scaling_models.h"

namespace {

using namespace ingot;
constexpr const char* kTool = "import-scaling";

// Of this process: what else the machine does, does not count.
double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// What one process measured: stages in order, in milliseconds.
struct Measured {
  std::vector<std::pair<std::string, double>> stages;
  double megabytes = 0;  // of the process beyond the model's own bytes
  int64_t nodes = 0;
  std::string problem;
};

class Stopwatch {
 public:
  explicit Stopwatch(Measured& to) : to_(to) {}
  template <class F>
  auto time(const std::string& stage, F&& work) {
    const double start = cpu_milliseconds();
    auto result = work();
    add(stage, cpu_milliseconds() - start);
    return result;
  }

 private:
  void add(const std::string& stage, double ms) {
    for (auto& [name, so_far] : to_.stages)
      if (name == stage) {
        so_far += ms;
        return;
      }
    to_.stages.emplace_back(stage, ms);
  }
  Measured& to_;
};

Status measure(std::string_view family, int64_t nodes, Measured& measured) {
  const std::string bytes = scaling::make_model(family, nodes);
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  Stopwatch watch(measured);
  ImportOptions import_options;
  import_options.profiles = scaling::profiles_of(family);
  auto imported = watch.time("import", [&] { return import_model_bytes(std::as_bytes(std::span(bytes)), "", import_options); });
  if (!imported.ok()) return imported.take_status();
  Graph graph = *std::move(imported);
  measured.nodes = static_cast<int64_t>(graph.topological_order().size());
  BuildOptions options;
  options.tune = false;
  for (const std::span<const Pass> list : {std::span<const Pass>(kCanonicalisePasses), std::span<const Pass>(kFusePasses), std::span<const Pass>(kQuantisePasses)})
    for (const Pass& pass : list) {
      INGOT_TRY(watch.time(std::string(pass.name), [&] { return pass.run(graph, options); }));
      INGOT_TRY(watch.time("verify_graph after each", [&] { return verify_graph(graph); }));
    }
  const DeviceInfo device = cpu_device({});
  const auto costs = make_estimated_cost(device);
  auto selection = watch.time("select_tactics", [&] { return select_tactics(graph, *costs, device, options); });
  if (!selection.ok()) return selection.take_status();
  auto emitted = watch.time("emit_plan", [&] { return emit_plan(graph, *selection, device); });
  if (!emitted.ok()) return emitted.take_status();
  const std::string report = watch.time("build report", [&] { return build_report_json(graph, *selection, *emitted, device, options, {}); });
  const EngineTarget target{&emitted->owned.plan};
  auto file = watch.time("engine file", [&] { return encode_engine({&target, 1}, report); });
  if (!file.ok()) return file.take_status();
  INGOT_TRY(watch.time("load", [&] { return make_engine(std::move(emitted->owned), {}).take_status(); }));
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  measured.megabytes = static_cast<double>(after.ru_maxrss - before.ru_maxrss) / 1024;
  return {};
}

Measured measure_alone(std::string_view family, int64_t nodes) {
  Measured measured;
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return measured.problem = "no pipe", measured;
  const pid_t child = ::fork();
  if (child < 0) return measured.problem = "no process", measured;
  if (child == 0) {
    const Status status = measure(family, nodes, measured);
    std::ostringstream text;
    if (status.ok()) text << measured.nodes << ' ' << measured.megabytes << '\n';
    else text << "! " << status.message() << '\n';
    for (const auto& [stage, ms] : measured.stages) text << ms << ' ' << stage << '\n';
    const std::string all = text.str();
    for (size_t at = 0; at < all.size();) {
      const ssize_t count = ::write(pipe_ends[1], all.data() + at, all.size() - at);
      if (count <= 0) std::_Exit(1);
      at += static_cast<size_t>(count);
    }
    std::_Exit(0);
  }
  ::close(pipe_ends[1]);
  std::string all;
  char buffer[4096];
  for (ssize_t count; (count = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<size_t>(count));
  ::close(pipe_ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (all.starts_with("! ")) return measured.problem = all.substr(2, all.find('\n') - 2), measured;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return measured.problem = "the process ended early", measured;
  std::istringstream lines(all);
  lines >> measured.nodes >> measured.megabytes;
  for (double ms; lines >> ms;) {
    std::string stage;
    std::getline(lines >> std::ws, stage);
    measured.stages.emplace_back(stage, ms);
  }
  return measured;
}

std::string rounded(double ms) {
  char text[32];
  std::snprintf(text, sizeof text, ms < 10 ? "%.1f" : "%.0f", ms);
  return text;
}
std::string thousands(int64_t n) {
  std::string text = std::to_string(n);
  for (int64_t at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

// Import and all passes, each with its verification.
bool before_tuning(const std::string& stage) {
  for (const char* later : {"select_tactics", "emit_plan", "build report", "engine file", "load"})
    if (stage == later) return false;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Times every stage of a build on made models of growing size, and prints a page.", kTool);
  std::vector<int64_t> sizes = {1000, 10000, 100000};
  std::vector<std::string> only;
  std::string output = "-";
  app.add_option("--nodes", sizes, "nodes of the models, parted by commas")->delimiter(',')->check(CLI::Range(int64_t{10}, int64_t{1000000}));
  app.add_option("--family", only, "measures only this family (may be repeated)")->check(CLI::IsMember([] {
    std::vector<std::string> names;
    for (const auto& family : scaling::families()) names.emplace_back(family.name);
    return names;
  }()));
  app.add_option("-o,--output", output, "the page; - for standard output");
  if (const auto done = cli::parse(app, argc, argv)) return *done;

  std::ostringstream page, tables, summary;
  summary << "| model |";
  for (int64_t size : sizes) summary << ' ' << thousands(size) << " nodes |";
  summary << " whole build, largest | memory, largest |\n| --- |";
  for (size_t i = 0; i < sizes.size() + 2; ++i) summary << " --- |";
  summary << '\n';
  for (const auto& family : scaling::families()) {
    if (!only.empty() && std::find(only.begin(), only.end(), family.name) == only.end()) continue;
    std::vector<Measured> columns;
    for (int64_t size : sizes) {
      std::cerr << kTool << ": " << family.name << ", " << thousands(size) << " nodes\n";
      columns.push_back(measure_alone(family.name, size));
      if (!columns.back().problem.empty())
        return cli::fail(kTool, Status(StatusCode::kInternal, std::string(family.name) + ": " + columns.back().problem));
    }
    std::vector<std::string> stages;
    for (const auto& [stage, ms] : columns[0].stages) stages.push_back(stage);
    const auto ms_of = [](const Measured& column, const std::string& stage) {
      for (const auto& [name, ms] : column.stages)
        if (name == stage) return ms;
      return 0.0;
    };
    const auto sum = [](const Measured& column, bool all) {
      double total = 0;
      for (const auto& [name, ms] : column.stages) total += all || before_tuning(name) ? ms : 0;
      return total;
    };
    const auto growth = [&](double small, double large) {
      if (columns.size() < 2 || small < 1) return std::string("–");
      const double nodes = static_cast<double>(columns.back().nodes) / static_cast<double>(columns[columns.size() - 2].nodes);
      return rounded(large / small) + " for " + rounded(nodes) + " times the nodes";
    };
    tables << "\n## " << family.name << "\n\n" << family.what << ".\n\n| stage, ms |";
    for (const Measured& column : columns) tables << ' ' << thousands(column.nodes) << " nodes |";
    tables << " growth at the end |\n| --- |";
    for (size_t i = 0; i <= columns.size(); ++i) tables << " --- |";
    tables << '\n';
    for (const std::string& stage : stages) {
      tables << "| " << stage << " |";
      for (const Measured& column : columns) tables << ' ' << rounded(ms_of(column, stage)) << " |";
      tables << ' ' << growth(columns.size() < 2 ? 0 : ms_of(columns[columns.size() - 2], stage), ms_of(columns.back(), stage)) << " |\n";
    }
    tables << "| **import and passes** |";
    for (const Measured& column : columns) tables << " **" << rounded(sum(column, false)) << "** |";
    tables << ' ' << growth(columns.size() < 2 ? 0 : sum(columns[columns.size() - 2], false), sum(columns.back(), false)) << " |\n| **whole build** |";
    for (const Measured& column : columns) tables << " **" << rounded(sum(column, true)) << "** |";
    tables << ' ' << growth(columns.size() < 2 ? 0 : sum(columns[columns.size() - 2], true), sum(columns.back(), true)) << " |\n| memory, MB |";
    for (const Measured& column : columns) tables << ' ' << rounded(column.megabytes) << " |";
    tables << ' ' << growth(columns.size() < 2 ? 0 : columns[columns.size() - 2].megabytes, columns.back().megabytes) << " |\n";
    summary << "| " << family.name << " |";
    for (const Measured& column : columns) summary << ' ' << rounded(sum(column, false) / 1000) << " s |";
    summary << ' ' << rounded(sum(columns.back(), true) / 1000) << " s | " << rounded(columns.back().megabytes) << " MB |\n";
  }
  page << "# Scaling\n\nWritten by `import-scaling --output docs/scaling.md`; do not edit. How a build grows with the number of nodes, on made\n"
          "models whose tensors are so small that only nodes count. Estimated costs, one thread, " << cpu_model_name() << ". A pass that runs\n"
          "more than once counts in one line; the graph is verified after every pass.\n\nImport and all passes:\n\n"
       << summary.str() << tables.str();
  if (output == "-") {
    std::cout << page.str();
  } else if (const std::string text = page.str(); true) {
    if (Status status = write_file_atomically(output, std::as_bytes(std::span(text))); !status.ok()) return cli::fail(kTool, status);
  }
  return 0;
}
