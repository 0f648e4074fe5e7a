// Kernels of a few lines for tests: the body is wrapped in what every kernel needs.
#pragma once

#include <set>
#include <string>

#include "ptx/device_arrays.h"

namespace ingot::ptx {

struct SmallRun {
  Report report;
  std::vector<uint32_t> out;
};

// In the body: %t the thread's number, %in the 64-bit address of `in`, %o that of this thread's result (one word of
// `out`), registers %r0…15, %q0…7 (64 bits), %f0…7, %p0…7, and 1024 bytes of shared memory `sm`. The body begins on
// line 10 of the text.
inline std::string small_kernel(const std::string& body, const std::string& module_text = {}) {
  return ".version 8.6\n.target sm_90\n.address_size 64\n" + module_text +
         "\n.visible .entry k(.param .u64 in, .param .u64 out) {\n"
         ".reg .b32 %r<16>; .reg .b64 %q<8>; .reg .f32 %f<8>; .reg .pred %p<8>; .reg .b32 %t; .reg .b64 %in; .reg .b64 "
         "%o; .reg .b16 %h<4>;\n"
         ".shared .align 128 .b8 sm[1024];\n mov.u32 %t, %tid.x; ld.param.u64 %in, [in]; ld.param.u64 %o, [out]; "
         "mad.wide.u32 %o, %t, 4, %o;\n\n" +
         body + "\n ret;\n}\n";
}

// What tests that know the result have run, as "add.sat.s32".
inline std::set<std::string>& instructions_run() {
  static std::set<std::string> all;
  return all;
}

inline SmallRun run_small(const std::string& text, const std::vector<uint32_t>& in = {}, uint32_t threads = 32,
                          uint32_t blocks = 1, const Options& options = {}) {
  DeviceMemory memory;
  const auto module = parse_module(text, memory);
  for (const auto& [name, kernel] : module->kernels) {
    for (const std::string& line : kernel->text) {
      const size_t begin = line.starts_with('@') ? line.find(' ') + 1 : 0;
      instructions_run().insert(line.substr(begin, line.find_first_of(" ;", begin) - begin));
    }
  }
  const uint64_t from = upload(memory, in.empty() ? std::vector<uint32_t>(1) : in),
                 to = upload(memory, std::vector<uint32_t>(threads));
  LaunchShape shape;
  shape.block[0] = threads;
  shape.grid[0] = blocks;
  SmallRun r;
  r.report = run(*module, *module->kernels.at("k"), shape, pack(from, to).data(), memory, options);
  r.out = download<uint32_t>(memory, to, threads);
  return r;
}

inline SmallRun run_body(const std::string& body, const std::vector<uint32_t>& in = {}, uint32_t threads = 32) {
  return run_small(small_kernel(body), in, threads);
}

}  // namespace ingot::ptx
