// engine-turns: holds one engine ready and times it turn by turn on request, so that several engines can be interleaved.
// Each line of standard input is a number of seconds; each answer is a JSON list of the milliseconds of every run.
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "ingot/builder.h"
#include "run_samples.h"
#include "sample_options.h"

namespace {

using namespace ingot;
using Clock = std::chrono::steady_clock;
constexpr const char* kTool = "engine-turns";

Status serve(const std::string& path, const std::string& data, const RuntimeOptions& runtime) {
  INGOT_ASSIGN(const Engine engine, Engine::load_file(path, runtime));
  std::vector<std::string> names;
  for (const TensorInfo& input : engine.inputs()) names.push_back(input.name);
  INGOT_ASSIGN(const SampleFiles files, cli::open_samples(data, {}, std::move(names)));
  std::vector<NamedTensor> sample;
  INGOT_ASSIGN(const bool more, files.source->next(sample));
  if (!more) return Status(StatusCode::kInvalidArgument, "'" + data + "': samples: got none, need one");
  INGOT_ASSIGN(ExecutionContext context, engine.create_context());
  cli::own_outputs(context, engine);
  INGOT_TRY(feed_sample(context, engine, sample));
  INGOT_TRY(context.run());
  std::cout << "ready" << std::endl;
  double seconds;
  while (std::cin >> seconds) {
    std::vector<double> milliseconds;
    INGOT_TRY(context.run());  // brings weights back into the caches
    const auto end = Clock::now() + std::chrono::duration<double>(seconds);
    do {
      const auto before = Clock::now();
      INGOT_TRY(context.run());
      milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
    } while (Clock::now() < end);
    std::cout << nlohmann::json(milliseconds).dump() << std::endl;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Holds an engine ready and times it turn by turn: a number of seconds in, one JSON line out.", kTool);
  std::string engine, data;
  RuntimeOptions runtime;
  cli::StandardOptions standard;
  app.add_option("engine", engine, "the engine file")->required()->type_name("ENGINE");
  app.add_option("data", data, "one sample")->required()->type_name("FILE");
  app.add_option("--threads", runtime.threads, "threads of a run")->capture_default_str()->check(CLI::Range(1, 1024));
  cli::add_cpu_level_option(app, runtime.cpu_level);
  cli::add_standard_options(app, standard);
  if (const auto done = cli::parse(app, argc, argv)) return *done;
  return cli::finish(kTool, serve(engine, data, runtime));
}
