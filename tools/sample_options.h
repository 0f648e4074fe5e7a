// Command-line options that say what feeds a model, shared by the tools that read samples.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "data/sample_files.h"

namespace ingot::cli {

struct SampleFlags {
  std::string preprocess;  // a recipe file, or flags as "resize=20x20,color=gray"
  std::string raw_shape;
  int64_t batch = 0;
  int decode_threads = 1;
};
void add_sample_flags(CLI::App& app, SampleFlags& flags);
// Opens the samples at `path` with these flags for a model with these inputs.
Expected<SampleFiles> open_samples(const std::string& path, const SampleFlags& flags, std::vector<std::string> input_names);

// For options that hold a profile: empty if it can be read, else why not.
std::string check_profile(const std::string& text);
std::string check_limit(const std::string& text);  // the same of a --limit

// Whole file as text; the error names it.
Expected<std::string> read_text_file(const std::string& path);

}  // namespace ingot::cli
