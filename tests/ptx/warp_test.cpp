// Instructions that the tables cannot hold: memory, warps, barriers, matrices, control flow. Results by hand or from
// plain loops.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "ptx/small_kernel.h"
#include "runtime/ops/half.h"

namespace ingot::ptx {
namespace {

// Runs the body, which stores one word a thread, and compares with f(thread).
template <class F>
void expect_lanes(const std::string& body, F f, const std::vector<uint32_t>& in = {}, uint32_t threads = 32) {
  const SmallRun r = run_body(body, in, threads);
  EXPECT_TRUE(r.report.clean()) << body << "\n" << r.report.text();
  for (uint32_t t = 0; t < threads; ++t) EXPECT_EQ(r.out[t], static_cast<uint32_t>(f(t))) << body << " thread " << t;
}

TEST(Warp, Shuffles) {
  const std::string store = " st.global.u32 [%o], %r1;";
  expect_lanes(" mul.lo.s32 %r0, %t, 3;\n shfl.sync.bfly.b32 %r1, %r0, 5, 31, -1;" + store,
               [](uint32_t t) { return 3 * (t ^ 5); });
  expect_lanes(" shfl.sync.up.b32 %r1|%p0, %t, 3, 0, -1;\n @!%p0 add.s32 %r1, %r1, 100;" + store,
               [](uint32_t t) { return t >= 3 ? t - 3 : t + 100; });
  expect_lanes(" shfl.sync.down.b32 %r1|%p0, %t, 2, 0x181f, -1;\n @!%p0 add.s32 %r1, %r1, 100;" + store,
               [](uint32_t t) { return t % 8 < 6 ? t + 2 : t + 100; });
  expect_lanes(" shfl.sync.idx.b32 %r1, %t, 7, 31, -1;" + store, [](uint32_t) { return 7; });
}

TEST(Warp, VotesAndMatches) {
  expect_lanes(" setp.lt.u32 %p0, %t, 5;\n vote.sync.ballot.b32 %r1, %p0, -1;\n st.global.u32 [%o], %r1;",
               [](uint32_t) { return 31; });
  expect_lanes(
      " setp.lt.u32 %p0, %t, 5;\n vote.sync.any.pred %p1, %p0, -1;\n vote.sync.all.pred %p2, %p0, -1;\n "
      "vote.sync.uni.pred %p3, !%p0, -1;\n"
      " selp.b32 %r1, 1, 0, %p1;\n @%p2 add.s32 %r1, %r1, 2;\n @%p3 add.s32 %r1, %r1, 4;\n st.global.u32 [%o], %r1;",
      [](uint32_t) { return 1; });
  expect_lanes(" and.b32 %r0, %t, 3;\n match.any.sync.b32 %r1, %r0, -1;\n st.global.u32 [%o], %r1;",
               [](uint32_t t) { return 0x11111111u << (t & 3); });
  expect_lanes(
      " mov.u32 %r0, 9;\n match.all.sync.b32 %r1|%p0, %r0, -1;\n @!%p0 mov.u32 %r1, 1;\n st.global.u32 [%o], %r1;",
      [](uint32_t) { return ~0u; });
  expect_lanes(
      " setp.lt.u32 %p0, %t, 4;\n mov.u32 %r1, 0;\n @%p0 bra A;\n bra B;\nA: activemask.b32 %r1;\nB: st.global.u32 "
      "[%o], %r1;",
      [](uint32_t t) { return t < 4 ? 15 : 0; });
  expect_lanes(" elect.sync %r1|%p0, -1;\n @%p0 add.s32 %r1, %r1, 5;\n st.global.u32 [%o], %r1;",
               [](uint32_t t) { return t == 0 ? 5 : 0; });
}

TEST(Warp, Reductions) {
  const std::string store = " st.global.u32 [%o], %r1;";
  expect_lanes(" redux.sync.add.u32 %r1, %t, -1;" + store, [](uint32_t) { return 496; });
  expect_lanes(" sub.s32 %r0, %t, 9;\n redux.sync.min.s32 %r1, %r0, -1;" + store, [](uint32_t) { return -9; });
  expect_lanes(" sub.s32 %r0, %t, 9;\n redux.sync.max.u32 %r1, %r0, -1;" + store, [](uint32_t) { return -1; });
  expect_lanes(" redux.sync.xor.b32 %r1, %t, -1;" + store, [](uint32_t) { return 0; });
  expect_lanes(" redux.sync.or.b32 %r1, %t, -1;" + store, [](uint32_t) { return 31; });
  expect_lanes(" or.b32 %r0, %t, 64;\n redux.sync.and.b32 %r1, %r0, -1;" + store, [](uint32_t) { return 64; });
}

TEST(Warp, HalvesSynchroniseByTheirOwnMasks) {
  expect_lanes(
      " setp.lt.u32 %p0, %t, 16;\n selp.b32 %r2, 0xffff, 0xffff0000, %p0;\n @%p0 bra A;\n redux.sync.add.u32 %r1, %t, "
      "%r2;\n bra B;\n"
      "A: redux.sync.max.u32 %r1, %t, %r2;\nB: bar.warp.sync %r2;\n st.global.u32 [%o], %r1;",
      [](uint32_t t) { return t < 16 ? 15 : 376; });
}

TEST(Flow, LoopsOfDifferentLengthsMeetAgain) {
  expect_lanes(
      " mov.u32 %r1, 0;\n mov.u32 %r2, 0;\nL: add.s32 %r1, %r1, %r2;\n add.s32 %r2, %r2, 1;\n setp.le.u32 %p0, %r2, "
      "%t;\n @%p0 bra L;\n"
      " redux.sync.add.u32 %r3, %r1, -1;\n st.global.u32 [%o], %r3;",
      [](uint32_t) { return 5456; });
}

TEST(Flow, IndexedBranchesExitsAndCalls) {
  expect_lanes(
      " and.b32 %r0, %t, 3;\nTable: .branchtargets A, B, C, B;\n brx.idx %r0, Table;\nA: mov.u32 %r1, 10;\n bra E;\nB: "
      "mov.u32 %r1, 20;\n bra E;\n"
      "C: mov.u32 %r1, 30;\nE: st.global.u32 [%o], %r1;",
      [](uint32_t t) { return (t & 3) == 0   ? 10
                              : (t & 3) == 2 ? 30
                                             : 20; });
  expect_lanes(
      " mov.u32 %r1, 7;\n st.global.u32 [%o], %r1;\n setp.gt.u32 %p0, %t, 4;\n @%p0 exit;\n st.global.u32 [%o], %t;",
      [](uint32_t t) { return t > 4 ? 7 : t; });
  const std::string function =
      ".func (.param .b32 result) add_one(.param .b32 x, .reg .b32 more) { .reg .b32 %r<3>; .reg .pred %p; "
      "ld.param.u32 %r0, [x]; add.s32 %r1, %r0, 1;\n"
      " setp.gt.u32 %p, %r1, 8; @%p bra OUT; add.s32 %r1, %r1, more; OUT: st.param.b32 [result], %r1; ret; }";
  const SmallRun r =
      run_small(small_kernel(" { .param .b32 a; .param .b32 b; st.param.b32 [a], %t; call.uni (b), add_one, (a, 100); "
                             "ld.param.b32 %r5, [b]; }\n"
                             " st.global.u32 [%o], %r5;",
                             function));
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(r.out[t], t + 1 > 8 ? t + 1 : t + 101);
}

TEST(Flow, CarryChains) {
  expect_lanes(
      " mov.u32 %r0, 0xffffffff;\n add.cc.u32 %r1, %r0, %t;\n addc.u32 %r2, 0, 5;\n sub.cc.u32 %r3, %t, 1;\n subc.u32 "
      "%r4, 9, 0;\n add.s32 %r2, %r2, %r4;\n"
      " mad.lo.cc.u32 %r5, %r0, 1, %t;\n madc.hi.u32 %r6, %r0, %t, 0;\n shl.b32 %r6, %r6, 8;\n add.s32 %r2, %r2, "
      "%r6;\n st.global.u32 [%o], %r2;",
      [](uint32_t t) { return t == 0 ? 5 + 8 + 0 : 6 + 9 + ((t - 1 + 1) << 8); });
}

TEST(Memory, SpacesVectorsAndHints) {
  std::vector<uint32_t> in(256);
  for (uint32_t k = 0; k < 256; ++k) in[k] = k * 0x01010101u + 0x80;
  const std::string place = " mul.wide.u32 %q0, %t, 16;\n add.s64 %q0, %in, %q0;\n";
  expect_lanes(
      place +
          " ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r0,%r1,%r2,%r3}, [%q0];\n add.s32 %r0, %r0, %r3;\n "
          "st.global.u32 [%o], %r0;",
      [&](uint32_t t) { return in[4 * t] + in[4 * t + 3]; }, in);
  expect_lanes(
      place +
          " ld.global.s8 %r0, [%q0];\n ld.global.u8 %r1, [%q0+1];\n add.s32 %r0, %r0, %r1;\n st.global.cs.u32 [%o], "
          "%r0;",
      [&](uint32_t t) { return static_cast<uint32_t>(static_cast<int8_t>(in[4 * t])) + (in[4 * t] >> 8 & 255); }, in);
  expect_lanes(
      place +
          " ldu.global.u32 %r0, [%q0];\n ld.volatile.global.u32 %r1, [%q0];\n add.s32 %r0, %r0, %r1;\n "
          "st.release.gpu.global.u32 [%o], %r0;",
      [&](uint32_t t) { return 2 * in[4 * t]; }, in);
  expect_lanes(
      place +
          " prefetch.global.L2 [%q0];\n prefetchu.L1 [%q0];\n createpolicy.fractional.L2::evict_last.b64 %q1;\n"
          " ld.global.L2::cache_hint.u32 %r0, [%q0], %q1;\n st.global.L2::cache_hint.u32 [%o], %r0, %q1;",
      [&](uint32_t t) { return in[4 * t]; }, in);
  expect_lanes(
      " mov.u32 %r0, sm;\n mad.lo.s32 %r0, %t, 4, %r0;\n st.shared.u32 [%r0], %t;\n bar.sync 0;\n xor.b32 %r1, %t, "
      "3;\n mad.lo.s32 %r1, %r1, 4, sm;\n"
      " cvt.u64.u32 %q0, %r1;\n cvta.shared.u64 %q1, %q0;\n isspacep.shared %p0, %q1;\n isspacep.global %p1, %q1;\n "
      "ld.u32 %r2, [%q1];\n"
      " @!%p0 mov.u32 %r2, 99;\n @%p1 mov.u32 %r2, 99;\n cvta.to.shared.u64 %q2, %q1;\n setp.ne.s64 %p2, %q2, %q0;\n "
      "@%p2 mov.u32 %r2, 98;\n st.u32 [%o], %r2;",
      [](uint32_t t) { return t ^ 3; });
  const SmallRun local = run_small(small_kernel(
      " .local .align 8 .b8 depot[64];\n mov.u64 %q0, depot;\n cvta.local.u64 %q1, %q0;\n st.local.u32 [depot+8], %t;\n"
      " ld.u32 %r0, [%q1+8];\n ld.const.u32 %r1, [table+4];\n mov.u64 %q2, table;\n ld.const.u16 %h0, [%q2+8];\n "
      "cvt.u32.u16 %r2, %h0;\n"
      " ld.global.u32 %r3, [counter];\n add.s32 %r0, %r0, %r1;\n add.s32 %r0, %r0, %r2;\n add.s32 %r0, %r0, %r3;\n "
      "st.global.u32 [%o], %r0;",
      ".const .align 4 .u32 table[3] = {1, 200, 3000}; .global .align 4 .b8 counter[4] = {0x10, 0x27, 0, 0};"));
  ASSERT_TRUE(local.report.clean()) << local.report.text();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(local.out[t], t + 200 + 3000 + 10000);
  EXPECT_EQ(local.report.counters.local_requests, 2u);
}

TEST(Memory, Atomics) {
  const std::string store = " st.global.u32 [%o], %r1;";
  expect_lanes(" atom.global.add.u32 %r1, [%in], 2;" + store, [](uint32_t t) { return 10 + 2 * t; }, {10});
  expect_lanes(" atom.relaxed.gpu.global.max.s32 %r1, [%in], %t;" + store,
               [](uint32_t t) { return t == 0 ? 0 : t - 1; }, {0});
  expect_lanes(" atom.global.cas.b32 %r1, [%in], %t, 5;" + store,
               [](uint32_t t) { return t == 0   ? 0
                                       : t <= 5 ? 5
                                                : 5; }, {0});
  expect_lanes(" atom.global.exch.b32 %r1, [%in], %t;" + store, [](uint32_t t) { return t == 0 ? 77 : t - 1; }, {77});
  expect_lanes(" atom.global.inc.u32 %r1, [%in], 4;" + store, [](uint32_t t) { return t % 5; }, {0});
  expect_lanes(" red.global.add.f32 [%in], 0f3F000000;\n ld.global.u32 %r1, [%in];" + store,
               [](uint32_t) { return float_to_bits(17.0f); }, {float_to_bits(1.0f)});
  expect_lanes(" red.global.or.b32 [%in], 6;\n red.global.and.b32 [%in], 3;\n ld.global.u32 %r1, [%in];" + store,
               [](uint32_t) { return 2; }, {0});
  expect_lanes(" mov.u32 %r2, 0x3c003c00;\n red.global.add.noftz.f16x2 [%in], %r2;\n ld.global.u32 %r1, [%in];" + store,
               [](uint32_t) { return 0x50005000; }, {0});
  expect_lanes(
      " setp.eq.u32 %p0, %t, 0;\n @%p0 st.shared.u32 [sm], 3;\n bar.sync 0;\n atom.shared.add.u32 %r1, [sm], 1;" +
          store,
      [](uint32_t t) { return 3 + t; });
}

TEST(Memory, AsynchronousCopies) {
  std::vector<uint32_t> in(256);
  for (uint32_t k = 0; k < 256; ++k) in[k] = k + 1000;
  const std::string setup =
      " mul.wide.u32 %q0, %t, 16;\n add.s64 %q0, %in, %q0;\n mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 16, %r9;\n";
  const std::string sum =
      " ld.shared.u32 %r0, [%r9];\n ld.shared.u32 %r1, [%r9+12];\n add.s32 %r0, %r0, %r1;\n st.global.u32 [%o], %r0;";
  expect_lanes(
      setup + " cp.async.cg.shared.global [%r9], [%q0], 16;\n cp.async.commit_group;\n cp.async.wait_group 0;\n" + sum,
      [&](uint32_t t) { return in[4 * t] + in[4 * t + 3]; }, in);
  expect_lanes(
      setup + " cp.async.ca.shared.global.L2::128B [%r9], [%q0], 16, 4;\n cp.async.wait_all;\n" + sum,
      [&](uint32_t t) { return in[4 * t]; }, in);
  expect_lanes(
      setup + " setp.lt.u32 %p0, %t, 4;\n cp.async.ca.shared.global [%r9], [%q0], 16, %p0;\n cp.async.wait_all;\n" +
          sum,
      [&](uint32_t t) { return t < 4 ? 0 : in[4 * t] + in[4 * t + 3]; }, in);
  expect_lanes(
      setup +
          " cp.async.ca.shared.global [%r9], [%q0], 4;\n cp.async.commit_group;\n cp.async.ca.shared.global [%r9+12], "
          "[%q0+12], 4;\n cp.async.commit_group;\n"
          " cp.async.wait_group 1;\n ld.shared.u32 %r0, [%r9];\n cp.async.wait_group 0;\n ld.shared.u32 %r1, "
          "[%r9+12];\n add.s32 %r0, %r0, %r1;\n st.global.u32 [%o], %r0;",
      [&](uint32_t t) { return in[4 * t] + in[4 * t + 3]; }, in);
}

TEST(Barrier, NamedCountedAndReducing) {
  expect_lanes(
      " setp.lt.u32 %p0, %t, 32;\n @!%p0 bra C;\n st.shared.u32 [sm], 41;\n bar.arrive 3, 64;\n bra D;\nC: bar.sync 3, "
      "64;\n ld.shared.u32 %r0, [sm];\n st.global.u32 [%o], %r0;\nD:",
      [](uint32_t t) { return t < 32 ? 0 : 41; }, {}, 64);
  expect_lanes(
      " setp.lt.u32 %p0, %t, 40;\n bar.red.popc.u32 %r0, 0, %p0;\n bar.red.and.pred %p1, 0, %p0;\n "
      "barrier.cta.red.or.pred %p2, 1, 64, !%p0;\n"
      " @%p1 add.s32 %r0, %r0, 100;\n @%p2 add.s32 %r0, %r0, 1000;\n barrier.sync 2;\n membar.gl;\n "
      "fence.acq_rel.gpu;\n nanosleep.u32 10;\n st.global.u32 [%o], %r0;",
      [](uint32_t) { return 1040; }, {}, 64);
  expect_lanes(" griddepcontrol.wait;\n st.global.u32 [%o], %t;\n griddepcontrol.launch_dependents;",
               [](uint32_t t) { return t; });
}

TEST(Matrix, LoadsAndStoresSpreadRows) {
  // sm holds 8 x 8 halves, element (row, column) = 16 row + column; four times, 1000 apart.
  const std::string fill =
      " shr.u32 %r0, %t, 3;\n mul.lo.s32 %r0, %r0, 1000;\n and.b32 %r1, %t, 7;\n mad.lo.s32 %r0, %r1, 16, %r0;\n "
      "mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 16, %r9;\n"
      " add.s32 %r1, %r0, 1;\n shl.b32 %r1, %r1, 16;\n or.b32 %r1, %r1, %r0;\n add.s32 %r2, %r1, 0x20002;\n add.s32 "
      "%r3, %r2, 0x20002;\n add.s32 %r4, %r3, 0x20002;\n"
      " st.shared.v4.b32 [%r9], {%r1,%r2,%r3,%r4};\n bar.warp.sync -1;\n";
  const auto element = [](uint32_t m, uint32_t row, uint32_t column) { return 1000 * m + 16 * row + column; };
  for (uint32_t m = 0; m < 4; ++m) {
    const std::string store = " st.global.u32 [%o], %r1" + std::to_string(m) + ";";
    expect_lanes(fill + " ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r9];\n" + store,
                 [&](uint32_t t) { return element(m, t / 4, t % 4 * 2 + 1) << 16 | element(m, t / 4, t % 4 * 2); });
    expect_lanes(fill + " ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r10,%r11,%r12,%r13}, [%r9];\n" + store,
                 [&](uint32_t t) { return element(m, t % 4 * 2 + 1, t / 4) << 16 | element(m, t % 4 * 2, t / 4); });
  }
  expect_lanes(fill +
                   " ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%r10,%r11}, [%r9];\n bar.warp.sync -1;\n xor.b32 "
                   "%r5, %r9, 16;\n"
                   " stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%r5], {%r10,%r11};\n bar.warp.sync -1;\n "
                   "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r12}, [%r5];\n"
                   " st.global.u32 [%o], %r12;",
               [&](uint32_t t) { return element(0, t % 4 * 2 + 1, t / 4) << 16 | element(0, t % 4 * 2, t / 4); });
}

// D = A B + C with fragments built from plain matrices by the ISA's figures, written once more here: row g = lane / 4,
// column t = lane % 4.
struct MmaCase {
  const char* opcode;
  int rows, depth, bits;  // bits of an element of A and B
  int sums;               // registers of C
};

class Mma : public testing::TestWithParam<MmaCase> {};

TEST_P(Mma, MultipliesAsPlainLoopsDo) {
  const MmaCase& c = GetParam();
  const std::string name = c.opcode;
  const bool integer = name.find(".s32.") != std::string::npos, bf16 = name.find("bf16") != std::string::npos,
             half_sums = name.find("row.col.f16") != std::string::npos;
  const bool signed_a = name.find("s32.s8") != std::string::npos, signed_b = name.find("8.s8.s32") != std::string::npos;
  std::mt19937 random(3);
  std::vector<std::vector<double>> a(static_cast<size_t>(c.rows), std::vector<double>(static_cast<size_t>(c.depth))),
      b(static_cast<size_t>(c.depth), std::vector<double>(8)),
      sums(static_cast<size_t>(c.rows), std::vector<double>(8));
  const auto fill = [&](auto& matrix, bool is_signed_type, int spread) {
    for (auto& row : matrix) {
      for (double& x : row)
        x = static_cast<double>(static_cast<int>(random() % static_cast<unsigned>(spread)) -
                                (is_signed_type || !integer ? spread / 2 : 0));
    }
  };
  fill(a, signed_a, integer ? 256 : 32);
  fill(b, signed_b, integer ? 256 : 32);
  fill(sums, true, 64);
  const auto bits = [&](double x) -> uint32_t {
    if (c.bits == 8) return static_cast<uint32_t>(static_cast<int>(x)) & 255;
    if (c.bits == 32) return float_to_bits(static_cast<float>(x));
    return bf16 ? f32_to_bf16(static_cast<float>(x)) : f32_to_f16(static_cast<float>(x));
  };
  const auto sum_bits = [&](double x) {
    return integer ? static_cast<uint32_t>(static_cast<int>(x)) : float_to_bits(static_cast<float>(x));
  };
  const int per = 32 / c.bits, words_a = c.rows / 8 * c.depth / (4 * per), words_b = c.depth / (4 * per),
            total = words_a + words_b + c.sums;
  std::vector<uint32_t> in;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    const size_t g = lane / 4, t = lane % 4;
    for (int r = 0; r < words_a; ++r) {
      // a0: (g, low half), a1: (g + 8, low half), a2: (g, high half), a3: (g + 8, high half); one row group only when
      // there are 8 rows.
      const size_t row = c.rows == 16 && r % 2 ? g + 8 : g, half = static_cast<size_t>(c.rows == 16 ? r / 2 : r);
      uint32_t word = 0;
      for (size_t e = 0; e < static_cast<size_t>(per); ++e)
        word |= bits(a[row][(half * 4 + t) * static_cast<size_t>(per) + e]) << (c.bits * static_cast<int>(e) % 32);
      in.push_back(word);
    }
    for (int r = 0; r < words_b; ++r) {
      uint32_t word = 0;
      for (size_t e = 0; e < static_cast<size_t>(per); ++e)
        word |= bits(b[(static_cast<size_t>(r) * 4 + t) * static_cast<size_t>(per) + e][g])
                << (c.bits * static_cast<int>(e) % 32);
      in.push_back(word);
    }
    for (size_t r = 0; r < static_cast<size_t>(c.sums); ++r) {
      if (half_sums)
        in.push_back(uint32_t{f32_to_f16(static_cast<float>(sums[g + 8 * r][2 * t + 1]))} << 16 |
                     f32_to_f16(static_cast<float>(sums[g + 8 * r][2 * t])));
      else
        in.push_back(sum_bits(sums[g + 8 * (r / 2)][2 * t + r % 2]));
    }
  }
  const auto list = [](int first, int count) {
    std::string text;
    for (int k = 0; k < count; ++k) text += (k ? ",%x" : "%x") + std::to_string(first + k);
    return "{" + text + "}";
  };
  for (int result = 0; result < c.sums; ++result) {
    std::string body =
        " .reg .b32 %x<24>;\n mul.wide.u32 %q0, %t, " + std::to_string(4 * total) + ";\n add.s64 %q0, %in, %q0;\n";
    for (int k = 0; k < total; ++k)
      body += " ld.global.b32 %x" + std::to_string(k) + ", [%q0+" + std::to_string(4 * k) + "];\n";
    body += std::string(" ") + c.opcode + " " + list(20, c.sums) + ", " + list(0, words_a) + ", " +
            list(words_a, words_b) + ", " + list(words_a + words_b, c.sums) + ";\n";
    body += " st.global.b32 [%o], %x" + std::to_string(20 + result) + ";";
    expect_lanes(
        body,
        [&](uint32_t lane) {
          const auto product = [&](size_t row, size_t column) {
            double s = sums[row][column];
            for (size_t k = 0; k < static_cast<size_t>(c.depth); ++k) s += a[row][k] * b[k][column];
            return s;
          };
          const size_t g = lane / 4, t = lane % 4, r = static_cast<size_t>(result);
          if (half_sums)
            return uint32_t{f32_to_f16(static_cast<float>(product(g + 8 * r, 2 * t + 1)))} << 16 |
                   f32_to_f16(static_cast<float>(product(g + 8 * r, 2 * t)));
          return sum_bits(product(g + 8 * (r / 2), 2 * t + r % 2));
        },
        in);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Mma,
                         testing::Values(MmaCase{"mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32", 16, 32, 8, 4},
                                         MmaCase{"mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32", 16, 32, 8, 4},
                                         MmaCase{"mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32", 16, 32, 8,
                                                 4},
                                         MmaCase{"mma.sync.aligned.m16n8k16.row.col.s32.s8.u8.s32", 16, 16, 8, 4},
                                         MmaCase{"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32", 8, 16, 8, 2},
                                         MmaCase{"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 16, 16, 16, 4},
                                         MmaCase{"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", 16, 16, 16, 4},
                                         MmaCase{"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", 16, 16, 16, 2},
                                         MmaCase{"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", 16, 8, 16, 4},
                                         MmaCase{"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", 16, 8, 16, 4},
                                         MmaCase{"mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", 16, 8, 16, 2},
                                         MmaCase{"mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32", 16, 16, 8, 4},
                                         MmaCase{"mma.sync.aligned.m8n8k16.row.col.s32.u8.s8.s32", 8, 16, 8, 2},
                                         MmaCase{"mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32", 8, 16, 8, 2},
                                         MmaCase{"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 16, 8, 32, 4},
                                         MmaCase{"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", 16, 4, 32, 4}));

}  // namespace
}  // namespace ingot::ptx
