// engine-check: accuracy and latency of an engine beside its FP32 reference, and a verdict by the contract stated.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "data/labels.h"
#include "ingot/builder.h"
#include "latency.h"
#include "run_samples.h"
#include "runtime/plan.h"
#include "sample_options.h"

namespace {

using namespace ingot;
using Clock = std::chrono::steady_clock;
constexpr const char* kTool = "engine-check";

struct Flags {
  std::string engine, reference, data, labels, table, timing_cache;
  std::vector<std::string> profiles;
  double max_drop = -1, min_cosine = -2, seconds = 2;
  int64_t max_samples = 0;
  RuntimeOptions runtime;
  cli::SampleFlags samples;
  cli::StandardOptions standard;
};

// How close one output stays to the reference, over all samples.
struct Closeness {
  std::string name;
  double cosine_sum = 0, cosine_min = 1, signal = 0, noise = 0, max_error = 0;
  int64_t count = 0;

  void add(std::span<const float> want, std::span<const float> got) {
    double dot = 0, a = 0, b = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      const double x = want[i], y = got[i];
      dot += x * y;
      a += x * x;
      b += y * y;
      noise += (x - y) * (x - y);
      const double error = std::abs(x - y);
      if (!(error <= max_error)) max_error = std::isnan(error) && !(std::isnan(x) && std::isnan(y)) ? HUGE_VAL : std::isnan(error) ? max_error : error;
    }
    signal += a;
    const double cosine = a == 0 && b == 0 ? 1 : a == 0 || b == 0 ? 0 : dot / std::sqrt(a * b);
    cosine_sum += cosine;
    if (!(cosine >= cosine_min)) cosine_min = cosine;  // a NaN is the worst of all
    ++count;
  }
  double cosine() const { return count ? cosine_sum / static_cast<double>(count) : 1; }
  double snr_db() const { return noise == 0 ? 300 : signal == 0 ? -300 : 10 * std::log10(signal / noise); }
};

struct Score {
  int64_t top1 = 0, top5 = 0, count = 0;
  double percent(int64_t hits) const { return count ? 100.0 * static_cast<double>(hits) / static_cast<double>(count) : 0; }

  // Rows of `classes` scores; the label is the index of the true class.
  void add(std::span<const float> row, int64_t label) {
    ++count;
    if (label < 0 || label >= static_cast<int64_t>(row.size())) return;
    const float own = row[static_cast<size_t>(label)];
    int64_t better = 0;
    for (size_t i = 0; i < row.size(); ++i)
      if (row[i] > own || (row[i] == own && static_cast<int64_t>(i) < label) || std::isnan(own)) ++better;
    top1 += better < 1;
    top5 += better < 5;
  }
};

std::span<const float> floats(const NamedTensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.data.data()), tensor.data.size() / sizeof(float)};
}

double run_ms(ExecutionContext& context, Status& status) {
  const auto before = Clock::now();
  status = context.run();
  return std::chrono::duration<double, std::milli>(Clock::now() - before).count();
}

void print_table(const nlohmann::json& check) {
  const auto number = [](const nlohmann::json& value, const char* format) {
    char text[48];
    std::snprintf(text, sizeof text, format, value.get<double>());
    return std::string(text);
  };
  const auto row = [](const std::string& what, const std::string& reference, const std::string& engine) {
    std::printf("%-16s %12s %12s\n", what.c_str(), reference.c_str(), engine.c_str());
  };
  row("", "reference", "engine");
  if (check.contains("accuracy") && !check["accuracy"]["reference"].is_null()) {
    row("accuracy", number(check["accuracy"]["reference"], "%.2f %%"), number(check["accuracy"]["engine"], "%.2f %%"));
  }
  row("latency", number(check["latency_ms"]["reference"], "%.3f ms"), number(check["latency_ms"]["engine"], "%.3f ms"));
  const auto megabytes = [&](const char* key) { return std::pair(number(check[key]["reference"].get<double>() / 1e6, "%.3f MB"), number(check[key]["engine"].get<double>() / 1e6, "%.3f MB")); };
  row("model size", megabytes("file_bytes").first, megabytes("file_bytes").second);
  row("peak memory", megabytes("memory_bytes").first, megabytes("memory_bytes").second);
  row("cosine", "1", number(check["cosine"], "%.5f"));
}

Status check(const Flags& flags) {
  INGOT_ASSIGN(const Engine engine, Engine::load_file(flags.engine, flags.runtime));
  cli::note_remark(kTool, engine);
  std::vector<std::string> names;
  for (const TensorInfo& input : engine.inputs()) names.push_back(input.name);
  INGOT_ASSIGN(SampleFiles files, cli::open_samples(flags.data, flags.samples, names));

  BuildOptions options;
  options.threads = flags.runtime.threads;
  options.cpu_level = flags.runtime.cpu_level;
  options.verify = false;
  options.timing_cache = flags.timing_cache;
  options.calibration = files.source.get();  // for the shapes only
  for (const TensorInfo& input : engine.inputs()) options.profiles.push_back({input.name, input.min, input.opt, input.max});
  // Tensors whose size depends on data are held to the same limits.
  for (const Step& step : engine.plan().steps)
    for (uint32_t slot : step.outputs)
      if (step.late && slot != kNoIndex) options.limits.push_back({engine.plan().slots[slot].name, engine.plan().slots[slot].max_shape});
  cli::ProgressLine line;
  options.progress = [&](const Progress& p) { line.update("building the reference: " + std::string(p.stage), p.done, p.total, p.seconds_left); };
  options.stop = cli::stop_on_interrupt();
  auto built = build_and_load(flags.reference, options);
  line.clear();
  if (!built.ok()) return std::move(built.take_status()).with_context("reference");
  const Engine reference = *std::move(built);
  if (reference.model_hash() != engine.model_hash())
    std::cerr << kTool << ": note: the engine was built from another model file: got " << engine.model_hash() << ", the reference is "
              << reference.model_hash() << '\n';
  if (reference.outputs().size() != engine.outputs().size())
    return Status(StatusCode::kInvalidArgument, "the engine was built from another model: got " + std::to_string(engine.outputs().size()) +
                                                    " outputs, need " + std::to_string(reference.outputs().size()));
  std::vector<int64_t> labels;
  if (!flags.labels.empty()) {
    INGOT_ASSIGN(const std::string text, cli::read_text_file(flags.labels));
    INGOT_ASSIGN(const std::vector<std::string> words, parse_labels(text, files.names, flags.labels));
    for (const std::string& word : words) {
      char* end = nullptr;
      labels.push_back(std::strtoll(word.c_str(), &end, 10));
      if (word.empty() || *end) return Status(StatusCode::kInvalidArgument, "'" + flags.labels + "': need class numbers: got '" + word + "'");
    }
  }

  INGOT_ASSIGN(ExecutionContext reference_context, reference.create_context());
  INGOT_ASSIGN(ExecutionContext engine_context, engine.create_context());
  cli::own_outputs(reference_context, reference);
  cli::own_outputs(engine_context, engine);
  std::vector<Closeness> closeness;
  for (const TensorInfo& output : engine.outputs()) closeness.emplace_back().name = output.name;
  Score reference_score, engine_score;
  std::vector<double> reference_ms, engine_ms;
  std::vector<NamedTensor> sample;
  INGOT_TRY(files.source->rewind());
  int64_t samples = 0;
  size_t label = 0;
  const auto one_pair = [&](bool reference_first) -> Status {
    Status status;
    for (const bool is_reference : {reference_first, !reference_first}) {
      const double ms = run_ms(is_reference ? reference_context : engine_context, status);
      INGOT_TRY(std::move(status));
      (is_reference ? reference_ms : engine_ms).push_back(ms);
    }
    return {};
  };
  while (flags.max_samples == 0 || samples < flags.max_samples) {
    if (*options.stop) return Status(StatusCode::kInterrupted, "interrupted");
    INGOT_ASSIGN(const bool more, files.source->next(sample));
    if (!more) break;
    INGOT_TRY(feed_sample(reference_context, reference, sample));
    INGOT_TRY(feed_sample(engine_context, engine, sample));
    if (samples == 0) {  // warm both up
      INGOT_TRY(reference_context.run());
      INGOT_TRY(engine_context.run());
    }
    INGOT_TRY(one_pair(samples % 2 == 0));
    INGOT_ASSIGN(const std::vector<NamedTensor> want, cli::outputs_of(reference_context, reference));
    INGOT_ASSIGN(const std::vector<NamedTensor> got, cli::outputs_of(engine_context, engine));
    for (size_t i = 0; i < want.size(); ++i) {
      if (want[i].data.size() != got[i].data.size() || want[i].dtype != got[i].dtype)
        return Status(StatusCode::kInvalidArgument, "output '" + want[i].name + "': the engine gives another type or shape: got " + to_string(got[i].shape) + ", need " + to_string(want[i].shape));
      if (want[i].dtype == DataType::kF32) closeness[i].add(floats(want[i]), floats(got[i]));
    }
    if (!labels.empty() && want[0].dtype == DataType::kF32 && want[0].shape.rank >= 1) {
      const int64_t classes = want[0].shape[want[0].shape.rank - 1];
      const int64_t rows = classes ? want[0].shape.elements() / classes : 0;
      for (int64_t r = 0; r < rows && label < labels.size(); ++r, ++label) {
        const auto at = [&](const NamedTensor& t) { return floats(t).subspan(static_cast<size_t>(r * classes), static_cast<size_t>(classes)); };
        if (labels[label] < 0 || labels[label] >= classes)
          return Status(StatusCode::kInvalidArgument, "'" + flags.labels + "': class of sample " + std::to_string(label) + ": got " +
                                                          std::to_string(labels[label]) + ", need 0 to " + std::to_string(classes - 1));
        reference_score.add(at(want[0]), labels[label]);
        engine_score.add(at(got[0]), labels[label]);
      }
    }
    ++samples;
    line.update("checking", samples, files.source->size());
  }
  line.clear();
  if (samples == 0) return Status(StatusCode::kInvalidArgument, "'" + flags.data + "': no samples");
  const auto end = Clock::now() + std::chrono::duration<double>(flags.seconds);
  for (int i = 0; Clock::now() < end && !*options.stop; ++i) INGOT_TRY(one_pair(i % 2 == 0));

  if (*options.stop) return Status(StatusCode::kInterrupted, "interrupted");
  double cosine = 0, snr = 0;
  nlohmann::json outputs = nlohmann::json::array();
  int64_t counted = 0;
  for (const Closeness& c : closeness) {
    if (c.count == 0) continue;
    outputs.push_back({{"name", c.name}, {"cosine", c.cosine()}, {"cosine_min", c.cosine_min}, {"snr_db", c.snr_db()}, {"max_error", c.max_error}});
    cosine += c.cosine();
    snr = counted == 0 ? c.snr_db() : std::min(snr, c.snr_db());
    ++counted;
  }
  if (counted) cosine /= static_cast<double>(counted);
  const auto reference_latency = cli::summarize(reference_ms), engine_latency = cli::summarize(engine_ms);
  nlohmann::json json;
  json["samples"] = samples;
  json["threads"] = flags.runtime.threads;
  json["accuracy"] = {{"reference", nullptr}, {"engine", nullptr}};
  if (!labels.empty()) {
    json["accuracy"] = {{"reference", reference_score.percent(reference_score.top1)}, {"engine", engine_score.percent(engine_score.top1)}};
    json["top5"] = {{"reference", reference_score.percent(reference_score.top5)}, {"engine", engine_score.percent(engine_score.top5)}};
  }
  json["cosine"] = cosine;
  json["snr_db"] = snr;
  json["outputs"] = outputs;
  json["latency_ms"] = {{"reference", reference_latency.median}, {"engine", engine_latency.median}};
  json["latency_ms_detail"] = {{"reference", cli::to_json(reference_latency)}, {"engine", cli::to_json(engine_latency)}};
  std::error_code ignored;
  json["file_bytes"] = {{"reference", std::filesystem::file_size(flags.reference, ignored)}, {"engine", std::filesystem::file_size(flags.engine, ignored)}};
  json["target"] = engine.target();
  json["memory_bytes"] = {{"reference", reference.arena_bytes() + reference.weight_bytes()}, {"engine", engine.arena_bytes() + engine.weight_bytes()}};

  std::printf("%lld samples, %d threads\n", static_cast<long long>(samples), flags.runtime.threads);
  print_table(json);
  for (const Closeness& c : closeness)
    if (c.count) std::printf("output %-24s cosine %.5f (worst %.5f)  snr %.1f dB  max error %.4g\n", c.name.c_str(), c.cosine(), c.cosine_min, c.snr_db(), c.max_error);

  std::string broken;
  if (flags.max_drop >= 0) {
    const double drop = reference_score.percent(reference_score.top1) - engine_score.percent(engine_score.top1);
    if (drop > flags.max_drop + 1e-9) {
      char text[96];
      std::snprintf(text, sizeof text, "accuracy drops by %.2f points: allowed are %.2f", drop, flags.max_drop);
      broken = text;
    }
  }
  if (flags.min_cosine > -2 && !(cosine >= flags.min_cosine)) {
    char text[96];
    std::snprintf(text, sizeof text, "cosine is %.5f: need %.5f", cosine, flags.min_cosine);
    broken += (broken.empty() ? "" : "; ") + std::string(text);
  }
  json["passed"] = broken.empty();
  INGOT_TRY(cli::write_json(flags.standard, json));
  return broken.empty() ? Status() : Status(StatusCode::kCheckFailed, broken + "; see docs/quantising.md for what to try");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compares an engine with its FP32 reference: accuracy, closeness, latency in one interleaved run.", kTool);
  app.footer("Exit status: 0 the contract stated by --max-drop and --min-cosine holds; 1 it does not, or an input is wrong; 2 usage;\n3 the model uses something unsupported.");
  Flags flags;
  app.add_option("engine", flags.engine, "the engine file")->type_name("ENGINE");
  app.add_option("--reference", flags.reference, "the ONNX model it was made from; built in FP32 in memory")->type_name("MODEL");
  app.add_option("--data", flags.data, "samples: a folder of images or arrays, or one file")->type_name("PATH");
  app.add_option("--labels", flags.labels, "true classes: lines 'name class' or one class a line")->type_name("FILE");
  app.add_option("--max-drop", flags.max_drop, "fails if top-1 accuracy drops by more than this many points")->check(cli::finite_range(0, 100))->type_name("PERCENT");
  app.add_option("--min-cosine", flags.min_cosine, "fails if the mean cosine to the reference is lower, or is no number")->check(cli::finite_range(-1, 1))->type_name("COSINE");
  app.add_option("--samples", flags.max_samples, "uses at most this many (0: all)")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--seconds", flags.seconds, "how long to time both, beyond the samples")->capture_default_str()->check(cli::finite_range(0, 1e6));
  app.add_option("--threads", flags.runtime.threads, "threads of a run")->capture_default_str()->check(CLI::Range(1, 1024));
  cli::add_cpu_level_option(app, flags.runtime.cpu_level);
  cli::add_backend_option(app, flags.runtime.backend);
  app.add_option("--timing-cache", flags.timing_cache, "timings for the reference's build")->type_name("FILE");
  app.add_option("--table", flags.table, "prints the table of an earlier --json and does nothing else")->type_name("FILE");
  cli::add_sample_flags(app, flags.samples);
  cli::add_standard_options(app, flags.standard);
  if (const auto done = cli::parse(app, argc, argv)) return *done;
  cli::keep_stdout_for_json(flags.standard);
  if (!flags.table.empty()) {
    auto text = cli::read_text_file(flags.table);
    if (!text.ok()) return cli::fail(kTool, text.status());
    const auto json = nlohmann::json::parse(*text, nullptr, false);
    try {
      print_table(json);
    } catch (const nlohmann::json::exception&) {
      return cli::fail(kTool, Status(StatusCode::kInvalidArgument, "'" + flags.table + "': not a result of engine-check"));
    }
    return cli::finish(kTool, {});
  }
  if (flags.engine.empty() || flags.reference.empty() || flags.data.empty()) {
    return cli::usage(kTool, "need ENGINE, --reference MODEL and --data PATH");
  }
  if (flags.max_drop >= 0 && flags.labels.empty()) return cli::usage(kTool, "--max-drop: needs --labels FILE");
  return cli::finish(kTool, check(flags));
}
