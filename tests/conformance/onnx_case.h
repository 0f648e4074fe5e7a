// One case of ONNX's public tests, or of our tables: found on disk, built, run, compared as ONNX's own runner compares, or more
// strictly.
#pragma once

#include <string>
#include <vector>

#include "ingot/status.h"

namespace ingot {

struct OnnxCase {
  std::string group, name;   // "node", "test_abs"
  std::string folder;
  double rtol = 0, atol = 0;
  std::string op;            // the operator it is about; empty for whole models
  int64_t version = 0;       // the opset that its meaning dates from
  std::string line;          // of the table it comes from
  std::string id() const { return group + '/' + name; }
};

// Reads index.tsv of a folder that write_onnx_cases or write_table_cases makes.
Expected<std::vector<OnnxCase>> read_onnx_cases(const std::string& folder);

enum class CaseMode {
  kOptimized,
  kPlain,      // no passes, reference code only
  kConstants,  // optimised, all inputs but the first as initialisers
  kDynamic,    // optimised, the inputs' dims left open around the case's, as many as the operator allows
  kCuda,       // optimised, on a GPU, or the stand-in for its driver
};

struct CaseResult {
  bool passed = false;
  bool bound = false;      // an input that a type rule needs the value of was given as an initialiser
  bool is_static = false;  // kDynamic: no dim can be left open, so nothing was run; kCuda: a layer has no kernel there
  double ulp = 0;          // the largest error of a float output, see ulp_error
  std::string fast;        // kOptimized: element types with fast code, as "f32,int8"
  std::string reason;      // of a failure, one line, free of paths
};

CaseResult run_onnx_case(const OnnxCase& test, CaseMode mode);

}  // namespace ingot
