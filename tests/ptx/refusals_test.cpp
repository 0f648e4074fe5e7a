// What is not known is refused, with the line: opcodes, modifiers, operands, directives; broken text of any kind ends
// in an error too.
#include <gtest/gtest.h>

#include <random>

#include "ptx/small_kernel.h"

namespace ingot::ptx {
namespace {

std::string refusal(const std::string& text) {
  DeviceMemory memory;
  try {
    parse_module(text, memory);
  } catch (const PtxError& e) {
    return e.what();
  }
  return {};
}

TEST(Refusals, UnknownOpcodesAndModifiers) {
  for (const char* statement : {"frobnicate.u32 %r0, %r1;",
                                "add.u8 %h0, %h1, %h2;",
                                "add.rn.u32 %r0, %r1, %r2;",
                                "add.f32.rn %f0, %f1, %f2;",
                                "add.ftz.rn.f32 %f0, %f1, %f2;",
                                "mul.u32 %r0, %r1, %r2;",
                                "fma.f32 %f0, %f1, %f2, %f3;",
                                "div.f32 %f0, %f1, %f2;",
                                "cvt.s32.f32 %r0, %f0;",
                                "cvt.rn.s32.f32 %r0, %f0;",
                                "cvt.f32.f64 %f0, %q0;",
                                "cvt.rni.f32.f16 %f0, %h0;",
                                "cvt.rn.u32.u32 %r0, %r1;",
                                "setp.lo.s32 %p0, %r0, %r1;",
                                "setp.equ.u32 %p0, %r0, %r1;",
                                "setp.lo.f32 %p0, %f0, %f1;",
                                "shfl.up.b32 %r0, %r1, 1, 0;",
                                "shfl.sync.rot.b32 %r0, %r1, 1, 31, -1;",
                                "ld.texture.u32 %r0, [%q0];",
                                "ld.global.v8.b32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%q0];",
                                "ld.global.v4.u64 {%q0,%q1,%q2,%q3}, [%q4];",
                                "ld.global.u32 %r0, [%r1];",
                                "ld.global.cv.nc.u32 %r0, [%q0];",
                                "st.const.u32 [%q0], %r0;",
                                "ld.shared::cluster.u32 %r0, [%q0];",
                                "atom.global.sub.u32 %r0, [%q0], 1;",
                                "atom.global.min.f32 %f0, [%q0], %f1;",
                                "cp.async.cg.shared.global [%r0], [%q0], 8;",
                                "cp.async.ca.shared.global [%r0], [%q0], 32;",
                                "cp.async.bulk.commit_group;",
                                "mma.sync.aligned.m16n8k32.row.row.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, {%r0,%r1,%r2,%r3}, "
                                "{%r0,%r1}, {%r0,%r1,%r2,%r3};",
                                "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%r0,%r1,%r2,%r3}, "
                                "{%r0,%r1,%r2,%r3}, {%r0,%r1}, {%r0,%r1,%r2,%r3};",
                                "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%r0,%r1,%r2,%r3}, "
                                "{%r0,%r1,%r2,%r3}, {%r0,%r1}, {%r0,%r1,%r2,%r3};",
                                "wgmma.fence.sync.aligned;",
                                "mbarrier.init.shared.b64 [%r0], 1;",
                                "ldmatrix.sync.aligned.m8n8.x4.b16 {%r0,%r1,%r2,%r3}, [%r4], 5;",
                                "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1}, [%r4];",
                                "bar.sync.aligned 0;",
                                "tex.2d.v4.f32.f32 {%f0,%f1,%f2,%f3}, [t, {%f0,%f1}];",
                                "vabsdiff4.u32.u32.u32 %r0, %r1, %r2, %r3;",
                                "mapa.u64 %q0, %q1, 0;",
                                "mov.u32 %r0, %clock;",
                                "mov.u32 %r0, %q0;",
                                "mov.u64 %q0, %r0;",
                                "add.s32 %r0, %r1;",
                                "add.s32 %r0, %r1, %r2, %r3;",
                                "add.s32 %p0, %r1, %r2;",
                                "add.s32 5, %r1, %r2;",
                                "selp.b32 %r0, %r1, %r2, %r3;",
                                "bra NOWHERE;",
                                "bra.conv L;",
                                "call (%r0), %r1, (%r2);",
                                "call nobody;",
                                "add.s32 %r0, %unknown, 1;",
                                "@%r0 mov.u32 %r1, 1;",
                                "ld.param.u32 %r0, [nothing];",
                                "brx.idx %r0, NOTABLE;",
                                ".global .b32 x;",
                                ".reg .b128 %x;",
                                "lop3.b32 %r0, %r1, %r2, %r3, %r4;",
                                "lop3.or.b32 %p0, %r1, %r2, %r3, 5, %p1;",
                                "}",
                                "@%p0 call foo;"}) {
    const std::string what = refusal(small_kernel(std::string(" ") + statement));
    EXPECT_NE(what.find("line "), std::string::npos) << "taken: " << statement << " " << what;
    EXPECT_TRUE(what.find("line 10") != std::string::npos || what.find("line 11") != std::string::npos ||
                what.find("line 12") != std::string::npos)
        << statement << ": " << what;
  }
}

TEST(Refusals, Directives) {
  const std::string head = ".version 8.6\n.target sm_90\n.address_size 64\n";
  for (const char* text :
       {".visible .entry k() .explicitcluster { ret; }", ".global .texref t;",
        ".entry k() { ret; } .entry k() { ret; }", ".entry k() { ret;", ".global .b32 x[2] = {1, 2, 3};",
        ".global .u64 p = generic(x);", ".extern .global .b32 x;",
        ".func f() { call f; ret; } .entry k() { call f; ret; }", ".alias a, b;", ".global .b8 big[99999999999];",
        ".entry k() { .reg .b32 %r<99999999>; ret; }", ".entry k() { L: L: ret; }"}) {
    EXPECT_NE(refusal(head + text), "") << text;
  }
  EXPECT_NE(refusal(".version 5.0\n.target sm_50\n"), "");
  EXPECT_NE(refusal(".version 8.0\n.target gpu_80\n"), "");
  EXPECT_NE(refusal(".version 8.0\n"), "");
  EXPECT_NE(refusal("hello"), "");
  EXPECT_NE(refusal(""), "");
  EXPECT_EQ(refusal(head + ".visible .entry k() { ret; }"), "");
}

TEST(Refusals, BrokenTextEndsInAnError) {
  const std::string good = small_kernel(
      " {\n .reg .pred p;\n setp.eq.u32 p, %t, 1;\n @p bra L;\n ld.global.v2.u32 {%r0,%r1}, [%in+8];\n L: bar.sync "
      "0;\n }");
  ASSERT_EQ(refusal(good), "");
  std::mt19937 random(5);
  for (int k = 0; k < 3000; ++k) {
    std::string text = good;
    for (int n = static_cast<int>(random() % 3); n >= 0; --n) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text.erase(at, 1 + random() % 8);
          break;
        case 1:
          text[at] = "{}[]().,;%@!<>09r"[random() % 17];
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
      if (text.empty()) text = " ";
    }
    refusal(text);  // any outcome but a crash
  }
}

}  // namespace
}  // namespace ingot::ptx
