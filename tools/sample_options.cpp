// A recipe given by name is a file if one exists, else flags.
#include "sample_options.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "data/file_bytes.h"
#include "ingot/builder.h"

namespace ingot::cli {

void add_sample_flags(CLI::App& app, SampleFlags& flags) {
  app.add_option("--preprocess", flags.preprocess,
                 "how images become tensors: a recipe file, or flags as resize=224x224,color=rgb,mean=127.5,scale=0.0078125")
      ->type_name("RECIPE");
  app.add_option("--raw-shape", flags.raw_shape, "shape of raw f32 files, as 1x3x224x224")->type_name("SHAPE");
  flags.decode_threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 1, 4);
  app.add_option("--decode-threads", flags.decode_threads, "threads that read and decode samples ahead (default: one less than there are cores, 1 to 4; 0: none)")->type_name("N")->check(CLI::Range(0, 256));
  app.add_option("--batch", flags.batch, "rows per run (default: images one by one, arrays as stored)")->type_name("N");
}

std::string check_profile(const std::string& text) {
  const auto profile = parse_profile(text);
  return profile.ok() ? std::string() : std::string(profile.status().message());
}

std::string check_limit(const std::string& text) {
  const auto limit = parse_limit(text);
  return limit.ok() ? std::string() : std::string(limit.status().message());
}

Expected<std::string> read_text_file(const std::string& path) { return load_text(path); }

Expected<SampleFiles> open_samples(const std::string& path, const SampleFlags& flags, std::vector<std::string> input_names) {
  SampleOptions options;
  options.path = path;
  options.input_names = std::move(input_names);
  options.batch = flags.batch;
  options.threads = flags.decode_threads;
  if (!flags.preprocess.empty()) {
    if (std::filesystem::exists(flags.preprocess)) {
      INGOT_ASSIGN(const std::string text, read_text_file(flags.preprocess));
      INGOT_ASSIGN(options.recipe, PreprocessRecipe::parse_file_text(text, flags.preprocess));
    } else {
      INGOT_ASSIGN(options.recipe, PreprocessRecipe::parse_flags(flags.preprocess));
    }
  }
  if (!flags.raw_shape.empty()) {
    const auto shape = parse_shape(flags.raw_shape);
    if (!shape || !shape->is_static())
      return Status(StatusCode::kInvalidArgument, "--raw-shape: cannot be read: got '" + flags.raw_shape + "', need as 1x3x224x224");
    options.raw_shape = *shape;
  }
  auto files = ingot::open_samples(options);
  // Exit status 3 is for models; data that cannot be read is a wrong input.
  if (!files.ok() && files.status().code() == StatusCode::kUnsupported)
    return Status(StatusCode::kInvalidArgument, std::string(files.status().message()));
  return files;
}

}  // namespace ingot::cli
