// What the interpreter must find: each check on a kernel of a few lines that breaks one rule, and on the same kernel
// without the fault.
#include <gtest/gtest.h>

#include "ptx/small_kernel.h"

namespace ingot::ptx {
namespace {

struct Fault {
  const char* name;
  FailureKind kind;
  std::string wrong, right;
  uint32_t threads = 32;
  const char* words = "";
};

const std::string kMine = " mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 4, %r9;\n";
const std::string kNext =
    " add.s32 %r8, %t, 1;\n and.b32 %r8, %r8, 63;\n mov.u32 %r7, sm;\n mad.lo.s32 %r8, %r8, 4, %r7;\n";
const std::string kCopy =
    " mul.wide.u32 %q0, %t, 16;\n add.s64 %q0, %in, %q0;\n mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 16, %r9;\n";

std::vector<Fault> faults() {
  std::vector<Fault> all = {
      {"read_past_the_end", FailureKind::kOutOfBounds, " ld.global.u32 %r0, [%in+1024];",
       " ld.global.u32 %r0, [%in+1020];", 32,
       "global read out of bounds: address 0x200000001600 is in no allocation; 0 bytes past one of 1024"},
      {"read_before_the_start", FailureKind::kOutOfBounds, " ld.global.u32 %r0, [%in-4];",
       " ld.global.u32 %r0, [%in];"},
      {"vector_past_the_end", FailureKind::kOutOfBounds, " ld.global.v2.u32 {%r0,%r1}, [%in+1024];",
       " ld.global.v2.u32 {%r0,%r1}, [%in+1016];"},
      {"write_far_away", FailureKind::kOutOfBounds, " st.global.u32 [%o+4096], %t;", " st.global.u32 [%o], %t;"},
      {"write_to_constants", FailureKind::kOutOfBounds, " mov.u64 %q0, table;\n st.global.u32 [%q0], %t;",
       " ld.const.u32 %r0, [table];", 32, "constant memory"},
      {"misaligned_global", FailureKind::kMisaligned, " ld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%in+4];",
       " ld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%in+16];", 32, "need a multiple of 16"},
      {"misaligned_shared", FailureKind::kMisaligned, " st.shared.u32 [sm+2], %t;", " st.shared.u16 [sm+2], 7;"},
      {"shared_past_the_end", FailureKind::kOutOfBounds, " st.shared.u32 [sm+1024], %t;",
       " st.shared.u32 [sm+1020], 1;"},
      {"local_past_the_end", FailureKind::kOutOfBounds, " .local .b8 depot[16];\n st.local.u32 [depot+16], %t;",
       " .local .b8 depot[16];\n st.local.u32 [depot+12], %t;"},
      {"read_of_what_nobody_wrote", FailureKind::kUnwrittenShared, " ld.shared.u32 %r0, [sm];",
       " st.shared.u32 [sm], 1;\n bar.sync 0;\n ld.shared.u32 %r0, [sm];"},
      {"read_of_half_a_word", FailureKind::kUnwrittenShared,
       " st.shared.u16 [sm], 1;\n bar.sync 0;\n ld.shared.u32 %r0, [sm];",
       " st.shared.u16 [sm], 1;\n bar.sync 0;\n ld.shared.u16 %r0, [sm];"},
      {"missing_barrier_before_read", FailureKind::kRace,
       kMine + kNext + " st.shared.u32 [%r9], %t;\n ld.shared.u32 %r0, [%r8];",
       kMine + kNext + " st.shared.u32 [%r9], %t;\n bar.sync 0;\n ld.shared.u32 %r0, [%r8];", 64,
       "without a barrier after its write"},
      {"missing_barrier_before_write", FailureKind::kRace,
       kMine + kNext +
           " st.shared.u32 [%r9], %t;\n bar.sync 0;\n ld.shared.u32 %r0, [%r8];\n st.shared.u32 [%r9], %r0;",
       kMine + kNext +
           " st.shared.u32 [%r9], %t;\n bar.sync 0;\n ld.shared.u32 %r0, [%r8];\n bar.sync 0;\n st.shared.u32 [%r9], "
           "%r0;",
       64, "after its read"},
      {"missing_syncwarp", FailureKind::kRace,
       kMine + kNext + " st.shared.u32 [%r9], %t;\n setp.ge.u32 %p0, %t, 31;\n @!%p0 ld.shared.u32 %r0, [%r8];",
       kMine + kNext +
           " st.shared.u32 [%r9], %t;\n bar.warp.sync -1;\n setp.ge.u32 %p0, %t, 31;\n @!%p0 ld.shared.u32 %r0, "
           "[%r8];"},
      {"two_writers", FailureKind::kRace, " st.shared.u32 [sm], %t;", " st.shared.u32 [sm], 5;", 32,
       "after another write"},
      {"bytes_of_one_word", FailureKind::kRace,
       " add.s32 %r0, %t, sm;\n st.shared.u8 [%r0], %t;\n and.b32 %r1, %t, -4;\n add.s32 %r1, %r1, sm;\n ld.shared.u32 "
       "%r2, [%r1];",
       " add.s32 %r0, %t, sm;\n st.shared.u8 [%r0], %t;\n bar.warp.sync -1;\n and.b32 %r1, %t, -4;\n add.s32 %r1, %r1, "
       "sm;\n ld.shared.u32 %r2, [%r1];"},
      {"wrong_named_barrier", FailureKind::kRace,
       kMine + " st.shared.u32 [%r9], %t;\n setp.lt.u32 %p0, %t, 64;\n @!%p0 bra D;\n bar.sync 1, 64;\n xor.b32 %r0, "
               "%r9, 256;\n ld.shared.u32 %r1, [%r0];\nD:",
       kMine + " st.shared.u32 [%r9], %t;\n setp.lt.u32 %p0, %t, 64;\n @!%p0 bra D;\n bar.sync 1, 64;\n xor.b32 %r0, "
               "%r9, 128;\n ld.shared.u32 %r1, [%r0];\nD:",
       128},
      {"atomic_beside_plain_write", FailureKind::kRace,
       " setp.eq.u32 %p0, %t, 0;\n @%p0 st.shared.u32 [sm], 0;\n atom.shared.add.u32 %r0, [sm], 1;",
       " setp.eq.u32 %p0, %t, 0;\n @%p0 st.shared.u32 [sm], 0;\n bar.sync 0;\n atom.shared.add.u32 %r0, [sm], 1;", 32},
      {"no_wait_for_copy", FailureKind::kInFlight,
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n ld.shared.u32 %r0, [%r9];",
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n cp.async.wait_all;\n ld.shared.u32 %r0, [%r9];"},
      {"wrong_wait_group", FailureKind::kInFlight,
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n cp.async.commit_group;\n cp.async.wait_group 1;\n "
               "ld.shared.u32 %r0, [%r9];",
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n cp.async.commit_group;\n cp.async.wait_group 0;\n "
               "ld.shared.u32 %r0, [%r9];"},
      {"no_commit", FailureKind::kInFlight,
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n cp.async.wait_group 0;\n ld.shared.u32 %r0, [%r9];",
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n cp.async.commit_group;\n cp.async.wait_group 0;\n "
               "ld.shared.u32 %r0, [%r9];"},
      {"wait_without_barrier", FailureKind::kRace,
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n cp.async.wait_all;\n xor.b32 %r8, %r9, 16;\n "
               "ld.shared.u32 %r0, [%r8];",
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n cp.async.wait_all;\n bar.sync 0;\n xor.b32 %r8, %r9, "
               "16;\n ld.shared.u32 %r0, [%r8];"},
      {"write_over_copy", FailureKind::kInFlight,
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n st.shared.u32 [%r9], %t;",
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;\n cp.async.wait_all;\n st.shared.u32 [%r9], %t;"},
      {"copy_over_unread_stage", FailureKind::kRace,
       kCopy + " st.shared.u32 [%r9], 1;\n bar.sync 0;\n xor.b32 %r8, %r9, 16;\n ld.shared.u32 %r0, [%r8];\n "
               "cp.async.ca.shared.global [%r9], [%q0], 16;",
       kCopy + " st.shared.u32 [%r9], 1;\n bar.sync 0;\n xor.b32 %r8, %r9, 16;\n ld.shared.u32 %r0, [%r8];\n bar.sync "
               "0;\n cp.async.ca.shared.global [%r9], [%q0], 16;"},
      {"misaligned_copy", FailureKind::kMisaligned, kCopy + " cp.async.ca.shared.global [%r9], [%q0+4], 16;",
       kCopy + " cp.async.ca.shared.global [%r9], [%q0], 16;"},
      {"copy_past_the_end", FailureKind::kOutOfBounds, kCopy + " cp.async.ca.shared.global [%r9], [%q0+1024], 16;",
       kCopy + " cp.async.ca.shared.global [%r9], [%q0+1024], 16, 0;"},
      {"barrier_in_half_a_warp", FailureKind::kDivergence,
       " setp.lt.u32 %p0, %t, 16;\n @%p0 bra A;\n bar.sync 0;\n bra B;\nA: bar.sync 0;\nB:", " bar.sync 0;"},
      {"barrier_of_too_few_warps", FailureKind::kDeadlock,
       " setp.lt.u32 %p0, %t, 32;\n @%p0 bra B;\n bar.sync 0, 64;\nB:", " bar.sync 0, 64;", 64},
      {"lanes_that_never_come", FailureKind::kDeadlock,
       " setp.lt.u32 %p0, %t, 16;\n @%p0 bra A;\n bar.warp.sync -1;\n bra B;\nA: shfl.sync.idx.b32 %r0, %t, 0, 31, "
       "-1;\nB:",
       " bar.warp.sync -1;"},
      {"lane_outside_of_its_mask", FailureKind::kUndefined, " redux.sync.add.u32 %r0, %t, 0xffff;",
       " setp.ge.u32 %p0, %t, 16;\n @%p0 exit;\n redux.sync.add.u32 %r0, %t, 0xffff;"},
      {"shuffle_from_an_ended_lane", FailureKind::kUndefined,
       " setp.ge.u32 %p0, %t, 20;\n @%p0 exit;\n shfl.sync.bfly.b32 %r0, %t, 16, 31, -1;",
       " shfl.sync.bfly.b32 %r0, %t, 16, 31, -1;"},
      {"matrix_by_part_of_a_warp", FailureKind::kUndefined,
       " setp.ge.u32 %p0, %t, 20;\n @%p0 exit;\n mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0,%r1}, {%r2}, "
       "{%r3}, {%r4,%r5};",
       " mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r0,%r1}, {%r2}, {%r3}, {%r4,%r5};"},
      {"brkpt", FailureKind::kTrap, " brkpt;", ""},
      {"trap", FailureKind::kTrap, " setp.eq.u32 %p0, %t, 3;\n @%p0 trap;", " setp.eq.u32 %p0, %t, 99;\n @%p0 trap;"},
      {"unwritten_global", FailureKind::kUnwrittenGlobal, " ld.global.u32 %r0, [fresh];",
       " st.global.u32 [%o], 1;\n ld.global.u32 %r0, [%o];"},
  };
  return all;
}

class Checks : public testing::TestWithParam<size_t> {};

TEST_P(Checks, FindTheFaultAndNothingElse) {
  const Fault fault = faults()[GetParam()];
  const std::string module = ".const .align 4 .u32 table[1] = {1};";
  std::vector<uint32_t> in(256, 3);
  if (fault.kind == FailureKind::kUnwrittenGlobal) {
    // Memory that nobody wrote cannot be a variable of the module: those begin as zero.
    DeviceMemory memory;
    const auto parsed = parse_module(small_kernel(" ld.global.u32 %r0, [%in];\n st.global.u32 [%o], %r0;"), memory);
    const uint64_t from = memory.allocate(4), to = memory.allocate(128);
    LaunchShape shape;
    shape.block[0] = 32;
    const Report found = run(*parsed, *parsed->kernels.at("k"), shape, pack(from, to).data(), memory);
    ASSERT_EQ(found.failures.size(), 1u);
    EXPECT_EQ(found.failures[0].kind, FailureKind::kUnwrittenGlobal);
    memory.remove(from);
    const Report freed = run(*parsed, *parsed->kernels.at("k"), shape, pack(from, to).data(), memory);
    ASSERT_EQ(freed.failures.size(), 1u);
    EXPECT_NE(freed.failures[0].message.find("freed"), std::string::npos);
    return;
  }
  const Report right = run_small(small_kernel(fault.right, module), in, fault.threads).report;
  EXPECT_TRUE(right.clean()) << fault.name << ": " << right.text();
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Options options;
    options.seed = seed;
    const Report wrong = run_small(small_kernel(fault.wrong, module), in, fault.threads, 1, options).report;
    ASSERT_FALSE(wrong.clean()) << fault.name;
    EXPECT_EQ(name_of(wrong.failures[0].kind), name_of(fault.kind)) << wrong.text();
    EXPECT_GT(wrong.failures[0].ptx_line, 8) << wrong.text();
    EXPECT_NE(wrong.failures[0].message.find(fault.words), std::string::npos) << wrong.text();
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, Checks, testing::Range(size_t{0}, faults().size()),
                         [](const auto& info) { return std::string(faults()[info.param].name); });

TEST(Checks, SaysWhereInTheSources) {
  const SmallRun r = run_small(
      small_kernel(
          " .loc 1 30 5\n .loc 2 7 3, function_name NAME, inlined_at 1 31 9\n ld.global.u32 %r0,\n   [%in+64];") +
      ".file 1 \"dir/kernel.cu\"\n.file 2 \"dir/load.cuh\", 0, 0\n.section .debug_str { NAME:\n.b8 65, 0 }\n");
  ASSERT_EQ(r.report.failures.size(), 1u);
  EXPECT_EQ(r.report.failures[0].source, "load.cuh:7 (inlined at kernel.cu:31)");
  EXPECT_NE(
      r.report.failures[0].message.find("block (0,0,0) thread 0, ptx line 12: ld.global.u32 %r0, [%in+64]; load.cuh:7"),
      std::string::npos)
      << r.report.text();
}

TEST(Checks, StopsWhatDoesNotEnd) {
  Options options;
  options.max_steps = 10'000;
  const Report r = run_small(small_kernel("L: bra L;"), {}, 32, 1, options).report;
  ASSERT_EQ(r.failures.size(), 1u);
  EXPECT_EQ(r.failures[0].kind, FailureKind::kEndless);
}

TEST(Checks, ReportTheSameWithAnyNumberOfThreads) {
  std::string first;
  for (int threads : {1, 2, 3}) {
    Options options;
    options.threads = threads;
    const std::string text =
        run_small(
            small_kernel(
                " mov.u32 %r0, %ctaid.x;\n setp.lt.u32 %p0, %r0, 5;\n @%p0 bra D;\n st.global.u32 [%o+4096], %t;\nD:"),
            {}, 32, 40, options)
            .report.text();
    if (first.empty()) first = text;
    EXPECT_EQ(text, first);
  }
  EXPECT_NE(first.find("block (5,0,0)"), std::string::npos) << first;
}

TEST(Counters, BankConflictsAndSectors) {
  const auto counters = [](const std::string& body) {
    return run_body(body, std::vector<uint32_t>(2048), 32).report.counters;
  };
  const auto stride = [&](int words) {
    return counters(" mov.u32 %r9, sm;\n and.b32 %r0, %t, 7;\n mad.lo.s32 %r9, %r0, " + std::to_string(4 * words) +
                    ", %r9;\n st.shared.u32 [%r9], 1;")
        .bank_conflicts;
  };
  EXPECT_EQ(stride(1), 0u);
  EXPECT_EQ(stride(8), 1u);   // banks 0 8 16 24, twice each
  EXPECT_EQ(stride(32), 7u);  // eight words of one bank
  const std::string wide = " mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 16, %r9;\n st.shared.v4.u32 [%r9], {%t,%t,%t,%t};";
  EXPECT_EQ(counters(wide).bank_conflicts, 0u);
  const auto sectors = [&](int bytes) {
    return counters(" mul.wide.u32 %q0, %t, " + std::to_string(bytes) +
                    ";\n add.s64 %q0, %in, %q0;\n ld.global.u32 %r0, [%q0];")
        .global_sectors;
  };
  EXPECT_EQ(sectors(4), 4u);
  EXPECT_EQ(sectors(8), 8u);
  EXPECT_EQ(sectors(128), 32u);
  EXPECT_EQ(sectors(0), 1u);
}

TEST(Counters, BudgetsNameTheWorstLine) {
  DeviceMemory memory;
  const auto module = parse_module(
      small_kernel(
          " mov.u32 %r9, sm;\n and.b32 %r0, %t, 7;\n mad.lo.s32 %r9, %r0, 128, %r9;\n st.shared.u32 [%r9], 1;"),
      memory);
  LaunchShape shape;
  shape.block[0] = 32;
  Report report = run(*module, *module->kernels.at("k"), shape, pack(uint64_t{0}, uint64_t{0}).data(), memory);
  Budget budget;
  budget.bank_conflicts = 7;
  budget.mma = 0;
  hold(budget, *module, *module->kernels.at("k"), report);
  EXPECT_TRUE(report.clean()) << report.text();
  budget.bank_conflicts = 6;
  budget.mma = 1;
  hold(budget, *module, *module->kernels.at("k"), report);
  ASSERT_EQ(report.failures.size(), 2u);
  EXPECT_NE(
      report.failures[0].message.find("bank conflicts: got 7, need at most 6; most at ptx line 13: st.shared.u32"),
      std::string::npos)
      << report.text();
}

}  // namespace
}  // namespace ingot::ptx
