// Each opcode against the tables of tests/cases/ptx: one kernel an opcode form, one thread a line. Every modifier that
// the interpreter takes is in a table, or in a small kernel of another test.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ptx/instruction_table.h"
#include "ptx/small_kernel.h"

namespace ingot::ptx {
namespace {

constexpr const char* kTables[] = {"integer", "bits", "float", "half", "compare", "convert", "modifiers", "set"};

struct CaseLine {
  std::vector<uint64_t> operands;
  uint64_t result = 0, tolerance = 0;
};

struct CaseBlock {
  std::string opcode, to;
  std::vector<std::string> sources;
  std::vector<CaseLine> lines;
  int line = 0;
};

std::vector<CaseBlock> read_cases(const std::string& name) {
  std::ifstream file(std::string(INGOT_SOURCE_DIR) + "/tests/cases/ptx/" + name + ".txt");
  std::vector<CaseBlock> blocks;
  std::string text, word;
  for (int number = 1; std::getline(file, text); ++number) {
    if (text.starts_with('#')) continue;
    std::istringstream in(text);
    if (text.starts_with("op ")) {
      CaseBlock b;
      b.line = number;
      in >> word >> b.opcode >> word >> b.to >> word;
      while (in >> word) b.sources.push_back(word);
      blocks.push_back(std::move(b));
      continue;
    }
    CaseLine line;
    while (in >> word && word != "=") line.operands.push_back(std::stoull(word, nullptr, 16));
    in >> word;
    if (word.starts_with('~')) {
      line.tolerance = std::stoull(word.substr(1));
      in >> word;
    }
    line.result = std::stoull(word, nullptr, 16);
    blocks.back().lines.push_back(std::move(line));
  }
  return blocks;
}

// A kernel that loads one line's operands a thread, runs the opcode and stores the result.
std::string kernel_for(const CaseBlock& b) {
  std::string body, arguments;
  for (size_t k = 0; k < b.sources.size(); ++k) {
    const std::string type = b.sources[k], reg = "%s" + std::to_string(k);
    if (type[0] == '#') {
      arguments += ", " + type.substr(1);
      continue;
    }
    arguments += ", " + reg;
    const std::string at = "[%a+" + std::to_string(8 * k) + "]";
    if (type == "pred") {
      body += ".reg .pred " + reg + ";\n ld.global.b32 %t, " + at + ";\n setp.ne.u32 " + reg + ", %t, 0;\n";
    } else {
      body += ".reg ." + type + " " + reg + ";\n ld.global." + type + " " + reg + ", " + at + ";\n";
    }
  }
  const bool predicate = b.to == "pred";
  body += std::string(".reg .") + (predicate ? "pred" : b.to) + " %d;\n " + b.opcode + " %d" + arguments + ";\n";
  body += predicate ? " selp.b32 %t, 1, 0, %d;\n st.global.b32 [%o], %t;\n" : " st.global." + b.to + " [%o], %d;\n";
  return ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out, .param "
         ".u32 n) {\n"
         ".reg .b32 %t; .reg .b32 %i; .reg .b32 %n; .reg .b64 %a; .reg .b64 %o; .reg .b64 %w; .reg .pred %q;\n"
         " mov.u32 %i, %ctaid.x;\n mov.u32 %t, %tid.x;\n mad.lo.s32 %i, %i, 64, %t;\n ld.param.u32 %n, [n];\n "
         "setp.ge.u32 %q, %i, %n;\n @%q bra END;\n"
         " ld.param.u64 %a, [in];\n ld.param.u64 %o, [out];\n mul.wide.u32 %w, %i, 8;\n add.s64 %o, %o, %w;\n "
         "mul.lo.u64 %w, %w, " +
         std::to_string(b.sources.size()) + ";\n add.s64 %a, %a, %w;\n" + body + "END:\n ret;\n}\n";
}

class InstructionCases : public testing::TestWithParam<const char*> {};

TEST_P(InstructionCases, HaveTheDocumentedResults) {
  const std::vector<CaseBlock> blocks = read_cases(GetParam());
  ASSERT_FALSE(blocks.empty());
  for (const CaseBlock& b : blocks) {
    DeviceMemory memory;
    std::unique_ptr<Module> module;
    ASSERT_NO_THROW(module = parse_module(kernel_for(b), memory)) << b.opcode << "\n" << kernel_for(b);
    instructions_run().insert(b.opcode);
    std::vector<uint64_t> operands;
    for (const CaseLine& line : b.lines) {
      for (size_t k = 0; k < b.sources.size(); ++k) operands.push_back(b.sources[k][0] == '#' ? 0 : line.operands[k]);
    }
    const uint32_t n = static_cast<uint32_t>(b.lines.size());
    const uint64_t in = upload(memory, operands), out = upload(memory, std::vector<uint64_t>(n));
    LaunchShape shape;
    shape.grid[0] = (n + 63) / 64;
    shape.block[0] = 64;
    const Report report = run(*module, *module->kernels.at("k"), shape, pack(in, out, n).data(), memory);
    ASSERT_TRUE(report.clean()) << report.text();
    const std::vector<uint64_t> got = download<uint64_t>(memory, out, n);
    for (uint32_t k = 0; k < n; ++k) {
      const CaseLine& line = b.lines[k];
      const uint64_t apart = got[k] > line.result ? got[k] - line.result : line.result - got[k];
      std::ostringstream where;
      for (const uint64_t x : line.operands) where << " " << std::hex << x;
      EXPECT_LE(apart, line.tolerance) << b.opcode << where.str() << ": got " << std::hex << got[k] << ", need "
                                       << line.result << "; " << GetParam() << ".txt:" << std::dec
                                       << b.line + 1 + static_cast<int>(k);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, InstructionCases,
                         testing::ValuesIn(kTables),
                         [](const auto& info) { return std::string(info.param); });

// When all tests have run: each modifier of each opcode was in one of those that know the result.
class EveryModifierIsTested : public testing::Environment {
  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*") return;
    const std::vector<std::string> run(instructions_run().begin(), instructions_run().end());
    for (const std::string& missing : choices_missing_in(run)) ADD_FAILURE() << "no test runs '" << missing << "'";
  }
};
const auto* const environment = testing::AddGlobalTestEnvironment(new EveryModifierIsTested);

}  // namespace
}  // namespace ingot::ptx
