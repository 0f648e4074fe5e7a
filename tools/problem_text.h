// A tactic's problem as one line of text, made whole with seeded random constants: what the conformance test and
// tactic-bench read.
//
//   conv u8 1x64x56x56 w64x64x3x3 pad1 bias relu residual # resnet50 res2a
//   matmul s8 ?7x384 w384x1536 bias gelu out:u8           # ?7: a dim that varies up to 7
//   max_pool u8 1x64x112x112 kernel3 stride2 pad1
//   add u8 1x40x28x28 s8:1x40x1x1 relu                    # any binary or unary function by its name
//   quantize f32 1x3x224x224 out:u8 from:linear
//   Softmax axis=-1 f32 2x8x128                           # any op by its kind and fields
//
// First comes the op, then the type and shape of its first input, then in any order:
//   w<shape>            constant weights (conv: [O,C/groups,kernel…], matmul: [K,N], or [N,K] with tb)
//   <dtype>:<shape>     another input; with a final c a constant one, with a final w (f32) one of the size of weights, summed over the last dim
//   <dtype>:[a,b,…]     a constant list of these values; none: an optional input left out. The first input may be one: <dtype> [a,b,…]
//   pad, stride, dil, kernel <a>[,<b>…]   groups<n>   same_upper same_lower ceil count_pad global tb alpha:<x>
//   parts<n>            number of outputs (Split)
//   bias, residual[:<dtype>], <activation>[:<alpha>[:<beta>]]
//   out:<dtype>         of the result; the first input's if left out
//   nhwc, linear        layout of tensors of rank ≥ 3 (nhwc for conv and pools if left out); from:linear, from:nhwc: of the first
//   heavy               weights over all of s8, so that pairs of products leave 16 bits; per_tensor: one weight scale
//   unquantised         u8 and s8 are plain integers
//   near                random floats within ±0.5, none of them far: where sums would hide what one element adds
//   xperch, yperch      first input, first output: a scale and zero point per channel (dim 1)
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/tactic.h"

namespace ingot {

struct TestProblem {
  std::string text, name;  // name: what follows '#'
  OpParams params;
  std::vector<Operand> inputs, outputs;
  std::vector<std::vector<std::byte>> constants;  // of inputs; empty where not constant
  bool near = false;

  Problem problem(const DeviceInfo& device) const { return {params, inputs, outputs, device}; }
  double multiply_adds() const;  // of conv and matmul at the maximum shapes; 0 for others
};
Expected<TestProblem> parse_problem(std::string_view line);
// All problems of a file; empty lines and lines that begin with '#' are skipped.
Expected<std::vector<TestProblem>> read_problems(const std::string& path);

}  // namespace ingot
