// Samples on disk → SampleSource. What a path may be:
//   image (.png .jpg .jpeg)       one sample, by the preprocessing recipe
//   .npy .pb                      one sample of a one-input model
//   .npz                          one sample; its keys are the inputs' names
//   .raw .bin .f32                f32 values, little-endian; as many samples as `raw_shape` fits into the file
//   folder                        its files, sorted by name, one after the other; hidden files and unknown endings are skipped
//   folder in a folder            of images: its images; of arrays: one sample, one file per input, as in ONNX's test data
//                                 (input_0.pb, input_1.pb … or <input name>.npy; output_* is skipped)
// A folder that itself holds input_0.* is one sample too. Arrays have the batch as their first dim.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/preprocess.h"
#include "ingot/calibrator.h"
#include "ingot/status.h"

namespace ingot {

struct SampleOptions {
  std::string path;
  PreprocessRecipe recipe = {};            // for images
  Shape raw_shape = {};                    // for raw files; rank 0: none given
  std::vector<std::string> input_names = {};  // the model's, in its order: names input_<i> files that carry no name
  int64_t batch = 0;                       // rows per sample; 0: images one by one, arrays as they are stored
  int threads = 1;                         // read and decode the next samples while one is being used; 0: none do
};

struct SampleFiles {
  std::unique_ptr<SampleSource> source;
  // One entry per stored sample, before batching: path below the given folder. Labels are matched to these.
  std::vector<std::string> names;
};

Expected<SampleFiles> open_samples(const SampleOptions& options);

// All arrays of a folder whose name starts with `prefix` ("input_", "output_"), by number; names as stored in the .pb files,
// else from `tensor_names`, else empty.
Expected<std::vector<NamedTensor>> load_numbered_tensors(const std::string& folder, const std::string& prefix,
                                                         const std::vector<std::string>& tensor_names);
// One array file (.npy, .pb) or all of an .npz.
Expected<std::vector<NamedTensor>> load_tensors(const std::string& path);
// Writes by ending: .npy, .pb (one tensor) or .npz, .raw/.bin/.f32 (the bytes).
Status save_tensors(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace ingot
