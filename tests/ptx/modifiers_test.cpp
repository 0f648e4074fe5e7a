// Loads, stores, atomics, asynchronous copies and barriers in each type, space, scope, order and hint that the
// interpreter takes.
#include <gtest/gtest.h>

#include "ptx/small_kernel.h"
#include "runtime/ops/half.h"

namespace ingot::ptx {
namespace {

struct TypeCase {
  const char* name;
  uint32_t bytes;
  bool is_signed = false;
};
constexpr TypeCase kTypes[] = {{"b8", 1},        {"b16", 2},       {"b32", 4},       {"b64", 8},  {"u8", 1},  {"u16", 2},
                               {"u32", 4},       {"u64", 8},       {"s8", 1, true},  {"s16", 2, true}, {"s32", 4, true}, {"s64", 8, true},
                               {"f32", 4},       {"f64", 8},       {"f16", 2},       {"bf16", 2}};

constexpr const char* kHints[] = {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
                                  "L2::evict_normal", "L2::evict_first",     "L2::evict_last",  "L2::64B",        "L2::128B",
                                  "L2::256B"};
constexpr const char* kScopes[] = {"cta", "cluster", "gpu", "sys"};

std::vector<uint32_t> pattern() {
  std::vector<uint32_t> in(256);
  for (uint32_t k = 0; k < 256; ++k) in[k] = 0x9e3779b9u * (k + 1);
  return in;
}

uint64_t bytes_at(const std::vector<uint32_t>& in, uint32_t at, uint32_t bytes) {
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const char*>(in.data()) + at, bytes);
  return value;
}

void expect_out(const std::string& body, const std::vector<uint32_t>& need, const std::vector<uint32_t>& in = {}) {
  const SmallRun r = run_body(body, in, static_cast<uint32_t>(need.size()));
  EXPECT_TRUE(r.report.clean()) << body << "\n" << r.report.text();
  EXPECT_EQ(r.out, need) << body;
}

// Each thread's 16 bytes of `in`; registers that hold elements of a type; an element as the word that is stored.
const std::string kPlace = " mul.wide.u32 %q0, %t, 16;\n add.s64 %q0, %in, %q0;\n createpolicy.fractional.L2::evict_last.b64 %q7;\n";
std::string declare(const TypeCase& type) {
  return " .reg .b" + std::to_string(std::max(16u, type.bytes * 8)) + " %y<4>;\n";
}
std::string element_to_word(const TypeCase& type, uint32_t e) {
  const std::string y = "%y" + std::to_string(e);
  if (type.bytes <= 2) return std::string(" cvt.") + (type.is_signed ? "s32.s16" : "u32.u16") + " %r0, " + y + ";\n";
  if (type.bytes == 4) return " mov.b32 %r0, " + y + ";\n";
  return " mov.b64 {%r0, %r1}, " + y + ";\n xor.b32 %r0, %r0, %r1;\n";
}
uint32_t word_of(const TypeCase& type, uint64_t value) {
  if (type.bytes == 8) return static_cast<uint32_t>(value ^ value >> 32);
  if (!type.is_signed || type.bytes == 4) return static_cast<uint32_t>(value);
  return static_cast<uint32_t>(type.bytes == 1 ? int32_t{static_cast<int8_t>(value)} : int32_t{static_cast<int16_t>(value)});
}
std::string list(uint32_t n) { return n == 1 ? "%y0" : n == 2 ? "{%y0,%y1}" : "{%y0,%y1,%y2,%y3}"; }

TEST(Modifiers, LoadsOfEveryType) {
  const std::vector<uint32_t> in = pattern();
  for (const std::string load : {"ld.global", "ld.relaxed.gpu.global", "ld.global.nc", "ldu.global"}) {
    for (const TypeCase& type : kTypes) {
      for (const uint32_t n : {1u, 2u, 4u}) {
        if (n * type.bytes > 16) continue;
        for (uint32_t e = 0; e < n; ++e) {
          std::vector<uint32_t> need;
          for (uint32_t t = 0; t < 8; ++t) need.push_back(word_of(type, bytes_at(in, 16 * t + e * type.bytes, type.bytes)));
          expect_out(kPlace + declare(type) + " " + load + (n > 1 ? ".v" + std::to_string(n) : "") + "." + type.name + " " + list(n) + ", [%q0];\n" +
                         element_to_word(type, e) + " st.global.u32 [%o], %r0;",
                     need, in);
        }
      }
    }
  }
}

TEST(Modifiers, StoresOfEveryType) {
  const std::vector<uint32_t> in = pattern();
  for (const std::string store : {"st.global", "st.release.gpu.global"}) {
    for (const TypeCase& type : kTypes) {
      for (const uint32_t n : {1u, 2u, 4u}) {
        if (n * type.bytes > 16) continue;
        // What a load of the same type gives goes back one place further on; the neighbours stay.
        const std::string vector = n > 1 ? ".v" + std::to_string(n) : "";
        std::vector<uint32_t> need;
        for (uint32_t t = 0; t < 8; ++t) {
          uint32_t words[8];
          std::memcpy(words, in.data() + 64 + 4 * t, 16);
          std::memcpy(words, in.data() + 4 * t, n * type.bytes);
          need.push_back(words[0] ^ words[1] ^ words[2] ^ words[3]);
        }
        expect_out(kPlace + declare(type) + " ld.global" + vector + "." + type.name + " " + list(n) + ", [%q0];\n " + store + vector + "." + type.name +
                       " [%q0+256], " + list(n) +
                       ";\n ld.global.v4.u32 {%r0,%r1,%r2,%r3}, [%q0+256];\n xor.b32 %r0, %r0, %r1;\n xor.b32 %r2, %r2, %r3;\n xor.b32 %r0, %r0, %r2;\n "
                       "st.global.u32 [%o], %r0;",
                   need, in);
      }
    }
  }
}

TEST(Modifiers, HintsOfLoadsAndStores) {
  const std::vector<uint32_t> in = pattern();
  std::vector<uint32_t> need;
  for (uint32_t t = 0; t < 8; ++t) need.push_back(in[4 * t]);
  std::vector<std::string> loads, stores;
  for (const std::string load : {"ld.global", "ld.weak.global", "ld.acquire.sys.global", "ld.global.nc", "ld.global.ca.nc", "ld.global.cg.nc", "ld.global.cs.nc"}) {
    loads.push_back(load);
    for (const char* hint : kHints) loads.push_back(load + "." + hint);
    loads.push_back(load + ".L2::cache_hint");
  }
  for (const char* cache : {"ca", "cg", "cs", "lu", "cv"}) loads.push_back(std::string("ld.global.") + cache);
  for (const char* scope : kScopes) {
    for (const char* order : {"relaxed", "acquire"}) {
      for (const char* space : {"", ".global"}) loads.push_back(std::string("ld.") + order + "." + scope + space);
    }
    for (const char* order : {"relaxed", "release"}) {
      for (const char* space : {"", ".global"}) stores.push_back(std::string("st.") + order + "." + scope + space);
    }
  }
  loads.insert(loads.end(), {"ld", "ldu", "ld.volatile", "ld.param", "ld.param::entry"});
  stores.insert(stores.end(), {"st", "st.volatile.global", "st.weak.global"});
  for (const char* cache : {"wb", "cg", "cs", "wt"}) stores.push_back(std::string("st.global.") + cache);
  for (const std::string store : {"st.global", "st.release.cta.global"}) {
    for (const char* hint : kHints) {
      if (std::string(hint).ends_with("B")) continue;
      stores.push_back(store + "." + hint);
    }
    stores.push_back(store + ".L2::cache_hint");
  }
  for (const std::string& load : loads) {
    const std::string more = load.ends_with("cache_hint") ? ", %q7" : "";
    if (load.find("param") != std::string::npos) {
      expect_out(" " + load + ".u64 %q1, [in];\n" + kPlace + " sub.s64 %q1, %q1, %in;\n add.s64 %q1, %q1, %q0;\n ld.global.u32 %r0, [%q1];\n st.global.u32 [%o], %r0;",
                 need, in);
    } else {
      expect_out(kPlace + " " + load + ".u32 %r0, [%q0]" + more + ";\n st.global.u32 [%o], %r0;", need, in);
    }
  }
  for (const std::string& store : stores) {
    const std::string more = store.ends_with("cache_hint") ? ", %q7" : "";
    expect_out(kPlace + " ld.global.u32 %r0, [%q0];\n " + store + ".u32 [%o], %r0" + more + ";", need, in);
  }
}

TEST(Modifiers, SharedLocalAndConstantSpaces) {
  std::vector<uint32_t> need;
  for (uint32_t t = 0; t < 8; ++t) need.push_back(3 * t + 1);
  const std::string value = " mad.lo.s32 %r0, %t, 3, 1;\n mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 4, %r9;\n", result = " st.global.u32 [%o], %r1;";
  for (const char* space : {"shared", "shared::cta"}) {
    for (const std::string order : {"", ".weak", ".volatile", ".relaxed.cta", ".relaxed.gpu"})
      expect_out(value + " st" + order + "." + space + ".u32 [%r9], %r0;\n ld" + order + "." + space + ".u32 %r1, [%r9];\n" + result, need);
    expect_out(value + " st.release.cta." + space + ".u32 [%r9], %r0;\n ld.acquire.cta." + space + ".u32 %r1, [%r9];\n" + result, need);
    for (const char* to : {"cvta", "cvta.to"})
      expect_out(value + " st.shared.u32 [%r9], %r0;\n cvt.u64.u32 %q1, %r9;\n cvta.shared.u64 %q2, %q1;\n " +
                     (std::string(to) == "cvta" ? "cvta." + std::string(space) + ".u64 %q3, %q1;\n ld.u32 %r1, [%q3];\n"
                                                : "cvta.to." + std::string(space) + ".u64 %q3, %q2;\n cvt.u32.u64 %r8, %q3;\n ld.shared.u32 %r1, [%r8];\n") +
                     result,
                 need);
  }
  expect_out(value + " .local .align 4 .b8 depot[16];\n st.local.u32 [depot+4], %r0;\n ld.local.u32 %r1, [depot+4];\n" + result, need);
  // Which space a generic address lies in: one bit each.
  const std::string where =
      " .local .align 4 .b8 depot[16];\n mov.u64 %q0, depot;\n cvta.local.u64 %q1, %q0;\n mov.u32 %r9, sm;\n cvt.u64.u32 %q0, %r9;\n cvta.shared::cta.u64 %q2, %q0;\n"
      " cvta.global.u64 %q3, %in;\n mov.u64 %q0, in;\n cvta.param.u64 %q4, %q0;\n cvta.param::entry.u64 %q5, %q0;\n mov.u64 %q0, table;\n cvta.const.u64 %q6, %q0;\n";
  const char* spaces[] = {"local", "shared", "shared::cta", "global", "param", "param::entry", "const"};
  const char* addresses[] = {"%q1", "%q2", "%q3", "%q4", "%q6"};
  const uint32_t holds[] = {1, 2 | 4, 8, 16 | 32, 8 | 64};  // constants are a part of global memory here
  for (size_t a = 0; a < std::size(addresses); ++a) {
    std::string body = where + " mov.u32 %r1, 0;\n";
    for (size_t s = 0; s < std::size(spaces); ++s)
      body += std::string(" isspacep.") + spaces[s] + " %p0, " + addresses[a] + ";\n @%p0 or.b32 %r1, %r1, " + std::to_string(1 << s) + ";\n";
    const SmallRun r = run_small(small_kernel(body + result, ".const .align 4 .u32 table[3] = {1, 2, 3};"));
    EXPECT_TRUE(r.report.clean()) << r.report.text();
    EXPECT_EQ(r.out[0] & ~64u, holds[a] & ~64u) << addresses[a];
  }
}

TEST(Modifiers, ParametersOfFunctions) {
  const SmallRun r = run_small(small_kernel(" { .param .b32 a; .param .b32 b; st.param::func.b32 [a], %t; call.uni (b), twice, (a); ld.param::func.b32 %r5, [b]; }\n"
                                            " st.global.u32 [%o], %r5;",
                                            ".func (.param .b32 result) twice(.param .b32 x) { .reg .b32 %r<2>; ld.param::func.u32 %r0, [x]; add.s32 %r1, %r0, %r0; "
                                            "st.param::func.b32 [result], %r1; ret; }"));
  ASSERT_TRUE(r.report.clean()) << r.report.text();
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(r.out[t], 2 * t);
}

// `op` of the first word or two of `in` by thread 0: what was there before, and what is there then.
void expect_atomic(const std::string& op, const std::string& type, uint64_t old, const std::string& operands, uint64_t fresh, const std::string& space = ".global") {
  const bool wide = type.ends_with("64"), half = type == "b16" || type == "f16" || type == "bf16";
  const std::string bits = wide ? "b64" : half ? "b16" : "b32", reg = wide ? "%q1" : half ? "%h1" : "%r1", sources = operands;
  const bool shared = space.starts_with(".shared");
  const std::string to = shared ? "[%r9]" : "[%in]", move = std::string(" mov.u32 %r9, sm;\n ld.global.v2.u32 {%r2,%r3}, [%in];\n @%p0 st.shared.v2.u32 [%r9], {%r2,%r3};\n");
  const auto read = [&](bool from_memory) {
    const std::string load = from_memory ? " ld" + std::string(shared ? ".shared." : ".global.") + bits + " " + reg + ", " + to + ";\n" : "";
    return load + (wide ? " mov.b64 {%r4, %r5}, %q1;\n xor.b32 %r4, %r4, %r5;\n" : half ? " cvt.u32.u16 %r4, %h1;\n" : " mov.b32 %r4, %r1;\n");
  };
  const auto word = [&](uint64_t v) { return static_cast<uint32_t>(wide ? v ^ v >> 32 : half ? v & 0xffff : v); };
  const std::vector<uint32_t> in = {static_cast<uint32_t>(old), static_cast<uint32_t>(old >> 32)};
  const bool reduction = op.starts_with("red");
  for (const bool after : {false, true}) {
    if (reduction && !after) continue;
    expect_out(" setp.eq.u32 %p0, %t, 0;\n" + move + " @%p0 " + op + (reduction ? " " + to : " " + reg + ", " + to) + sources + ";\n" + read(after) + " st.global.u32 [%o], %r4;",
               {word(after ? fresh : old)}, in);
  }
}

struct AtomicCase {
  const char* name;  // "add.u32"
  const char* type;
  uint64_t old;
  const char* operands;
  uint64_t fresh;
};

const AtomicCase kAtomics[] = {
    {"and", "b32", 0x0ff0, ", 0x3c3c", 0x0c30},
    {"and", "b64", 0x0ff000000000fff0, ", 0x3c3c000000000001", 0x0c30000000000000},
    {"or", "b32", 0x0ff0, ", 0x3c3c", 0x3ffc},
    {"or", "b64", 0x0f00000000000001, ", 0x3000000000000002", 0x3f00000000000003},
    {"xor", "b32", 0x0ff0, ", 0x3c3c", 0x33cc},
    {"xor", "b64", 0x0ff0, ", 0x7000000000000001", 0x7000000000000ff1},
    {"exch", "b32", 5, ", 6", 6},
    {"exch", "b64", 5, ", 0x700000000", 0x700000000},
    {"cas", "b32", 5, ", 5, 9", 9},
    {"cas", "b32", 5, ", 4, 9", 5},
    {"cas", "b64", 5, ", 5, 0x900000001", 0x900000001},
    {"add", "u32", 0xffffffff, ", 3", 2},
    {"add", "s32", 5, ", -7", 0xfffffffe},
    {"add", "u64", 0xffffffff, ", 3", 0x100000002},
    {"add", "f32", 0x3fc00000, ", 0f40100000", 0x40700000},                                // 1.5 + 2.25
    {"add", "f64", 0x3ff8000000000000, ", 0d4002000000000000", 0x400e000000000000},
    {"inc", "u32", 4, ", 7", 5},
    {"inc", "u32", 7, ", 7", 0},
    {"dec", "u32", 4, ", 7", 3},
    {"dec", "u32", 0, ", 7", 7},
    {"min", "u32", 0xfffffff0, ", 3", 3},
    {"min", "s32", 0xfffffff0, ", 3", 0xfffffff0},
    {"min", "u64", 0xfffffffffffffff0, ", 3", 3},
    {"min", "s64", 0xfffffffffffffff0, ", 3", 0xfffffffffffffff0},
    {"max", "u32", 0xfffffff0, ", 3", 0xfffffff0},
    {"max", "s32", 0xfffffff0, ", 3", 3},
    {"max", "u64", 0xfffffffffffffff0, ", 3", 0xfffffffffffffff0},
    {"max", "s64", 0xfffffffffffffff0, ", 3", 3},
};

TEST(Modifiers, AtomicsInEveryTypeOrderScopeAndSpace) {
  std::vector<std::string> ways = {"", ".global", ".shared", ".shared::cta"};
  for (const char* scope : kScopes) ways.push_back("." + std::string(scope) + ".global");
  const auto space_of = [](const std::string& way) { return way.find("shared") != std::string::npos ? std::string(".shared") : std::string(".global"); };
  for (const AtomicCase& c : kAtomics) {
    const std::string name = c.name, tail = "." + name + "." + c.type;
    for (const std::string& way : ways) {
      expect_atomic("atom" + way + tail, c.type, c.old, c.operands, c.fresh, space_of(way));
      if (name != "exch" && name != "cas") expect_atomic("red" + way + tail, c.type, c.old, c.operands, c.fresh, space_of(way));
    }
    for (const char* order : {"relaxed", "acquire", "release", "acq_rel"})
      expect_atomic("atom." + std::string(order) + ".gpu.global" + tail, c.type, c.old, c.operands, c.fresh);
    if (name != "exch" && name != "cas") {
      for (const char* order : {"relaxed", "release"})
        expect_atomic("red." + std::string(order) + ".gpu.global" + tail, c.type, c.old, c.operands, c.fresh);
    }
  }
  // Halves, whose operands are registers.
  const auto halves = [&](const std::string& type, uint32_t old, uint32_t more, uint32_t fresh) {
    const std::string reg = type.ends_with("x2") ? "%r6" : "%h2",
                      set = type.ends_with("x2") ? " mov.b32 %r6, " + std::to_string(more) + ";\n" : " mov.b16 %h2, " + std::to_string(more) + ";\n";
    std::vector<std::string> forms;
    for (const std::string& way : ways) forms.push_back(way);
    for (const char* order : {"relaxed", "acquire", "release", "acq_rel"}) forms.push_back("." + std::string(order) + ".gpu.global");
    for (const std::string& way : forms) {
      const bool shared = space_of(way) == ".shared";
      const std::string to = shared ? "[%r9]" : "[%in]";
      for (const char* op : {"atom", "red"}) {
        if (std::string(op) == "red" && way.starts_with(".ac")) continue;
        const bool pair = type.ends_with("x2");
        expect_out(" setp.eq.u32 %p0, %t, 0;\n mov.u32 %r9, sm;\n ld.global.u32 %r2, [%in];\n @%p0 st.shared.u32 [%r9], %r2;\n" + set + " @%p0 " + op + way + ".add.noftz." +
                       type + (std::string(op) == "atom" ? std::string(pair ? " %r1, " : " %h1, ") : " ") + to + ", " + reg + ";\n ld." +
                       (shared ? "shared" : "global") + ".u32 %r4, " + to + ";\n st.global.u32 [%o], %r4;",
                   {fresh}, {old});
      }
    }
  };
  halves("f16", 0x3e00, 0x4080, 0x4380);          // 1.5 + 2.25
  halves("bf16", 0x3fc0, 0x4010, 0x4070);
  halves("f16x2", 0x3e003c00, 0x40803c00, 0x43804000);
  halves("bf16x2", 0x3fc03f80, 0x40103f80, 0x40704000);
  expect_out(" setp.eq.u32 %p0, %t, 0;\n mov.b16 %h1, 5;\n mov.b16 %h2, 9;\n @%p0 atom.global.cas.b16 %h3, [%in], %h1, %h2;\n ld.global.u32 %r4, [%in];\n st.global.u32 [%o], %r4;",
             {0x70009}, {0x70005});
}

TEST(Modifiers, HintsOfAsynchronousCopies) {
  const std::vector<uint32_t> in = pattern();
  const std::string place = kPlace + " mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 16, %r9;\n setp.lt.u32 %p0, %t, 4;\n";
  const std::string result = " cp.async.wait_all;\n ld.shared.u32 %r0, [%r9];\n st.global.u32 [%o], %r0;";
  std::vector<uint32_t> all, some;
  for (uint32_t t = 0; t < 8; ++t) {
    all.push_back(in[4 * t]);
    some.push_back(t < 4 ? 0 : in[4 * t]);
  }
  for (const std::string space : {"shared", "shared::cta"}) {
    for (const std::string cache : {"ca", "cg"}) {
      for (const std::string ahead : {"", ".L2::64B", ".L2::128B", ".L2::256B"}) {
        const std::string copy = " cp.async." + cache + "." + space + ".global", to = " [%r9], [%q0], 16";
        expect_out(place + copy + ahead + to + ";\n" + result, all, in);
        expect_out(place + copy + ahead + to + ", 4;\n" + result, all, in);
        expect_out(place + copy + ahead + to + ", %p0;\n" + result, some, in);
        expect_out(place + copy + ".L2::cache_hint" + ahead + to + ", %q7;\n" + result, all, in);
        expect_out(place + copy + ".L2::cache_hint" + ahead + to + ", 4, %q7;\n" + result, all, in);
      }
    }
  }
}

TEST(Modifiers, Barriers) {
  std::vector<uint32_t> need(64), ones(64, 1);
  for (uint32_t t = 0; t < 64; ++t) need[t] = t ^ 32;
  const std::string mine = " mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 4, %r9;\n st.shared.u32 [%r9], %t;\n", other = " xor.b32 %r8, %r9, 128;\n ld.shared.u32 %r0, [%r8];\n st.global.u32 [%o], %r0;";
  for (const char* barrier : {"bar.sync 0", "bar.cta.sync 0, 64", "barrier.sync 0", "barrier.cta.sync 1", "barrier.sync.aligned 0", "barrier.cta.sync.aligned 2, 64"})
    expect_out(mine + " " + barrier + ";\n" + other, need);
  for (const std::string arrive : {"bar.arrive", "bar.cta.arrive", "barrier.arrive", "barrier.cta.arrive", "barrier.arrive.aligned", "barrier.cta.arrive.aligned"}) {
    std::vector<uint32_t> late(64);
    for (uint32_t t = 32; t < 64; ++t) late[t] = 7;
    expect_out(" setp.lt.u32 %p0, %t, 32;\n @!%p0 bra C;\n st.shared.u32 [sm], 7;\n " + arrive + " 3, 64;\n bra D;\nC: bar.sync 3, 64;\n ld.shared.u32 %r0, [sm];\n"
               " st.global.u32 [%o], %r0;\nD:", late);
  }
  for (const std::string name : {"bar.red.", "bar.cta.red.", "barrier.red.", "barrier.cta.red."}) {
    for (const std::string aligned : {"", ".aligned"}) {
      if (!aligned.empty() && name.starts_with("bar.")) continue;
      for (const std::string count : {"", "64, "}) {
        const std::string few = " setp.lt.u32 %p0, %t, 40;\n setp.lt.u32 %p1, %t, 64;\n setp.gt.u32 %p2, %t, 64;\n";
        expect_out(few + " " + name + "popc" + aligned + ".u32 %r0, 0, " + count + "%p0;\n setp.eq.u32 %p3, %r0, 40;\n selp.b32 %r0, 1, 0, %p3;\n st.global.u32 [%o], %r0;", ones);
        for (const auto& [op, yes, no] : {std::tuple{"and", "%p1", "%p0"}, std::tuple{"or", "%p0", "%p2"}}) {
          expect_out(few + " " + name + op + aligned + ".pred %p3, 0, " + count + yes + ";\n " + name + op + aligned + ".pred %p4, 1, " + count + no +
                         ";\n selp.b32 %r0, 1, 0, %p3;\n @%p4 add.s32 %r0, %r0, 2;\n st.global.u32 [%o], %r0;",
                     ones);
        }
      }
    }
  }
  for (const char* fence : {"membar.cta", "membar.gl", "membar.sys", "fence.sc.cta", "fence.acq_rel.gpu", "fence.sys", "fence.cta"})
    expect_out(mine + " " + fence + ";\n bar.sync 0;\n" + other, need);
}

TEST(Modifiers, PrefetchesAndPolicies) {
  const std::vector<uint32_t> ones(8, 1);
  for (const char* prefetch : {"prefetch.global.L1", "prefetch.global.L2", "prefetch.local.L1", "prefetch.L2", "prefetch.global.L2::evict_last",
                               "prefetch.global.L2::evict_normal", "prefetchu.L1"})
    expect_out(std::string(" ") + prefetch + " [%in];\n st.global.u32 [%o], 1;", ones);
  for (const char* first : {"L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"}) {
    for (const char* second : {"", ".L2::evict_first", ".L2::evict_unchanged"}) {
      for (const char* fraction : {"", ", 0f3F000000"})
        expect_out(std::string(" createpolicy.fractional.") + first + second + ".b64 %q7" + fraction + ";\n ld.global.L2::cache_hint.u32 %r0, [%in], %q7;\n st.global.u32 [%o], %r0;",
                   ones, {1});
    }
  }
}

TEST(Modifiers, CarriesOfEveryType) {
  // (2^n − 1) + t, or t − 1, carries or borrows in all threads but, or in none but, the first.
  for (const char* type : {"u32", "s32", "u64", "s64"}) {
    const bool wide = std::string(type).ends_with("64");
    const std::string a = wide ? "%q1" : "%r1", b = wide ? "%q2" : "%r2", c = wide ? "%q3" : "%r3", d = wide ? "%q4" : "%r4", dot = std::string(".") + type + " ";
    const std::string set = std::string(wide ? " cvt.u64.u32 %q1, %t;\n mov.b64 %q2, -1;\n" : " mov.b32 %r1, %t;\n mov.b32 %r2, -1;\n"),
                      result = (wide ? " cvt.u32.u64 %r4, %q4;\n" : "") + std::string(" st.global.u32 [%o], %r4;");
    std::vector<uint32_t> sums, differences, products, highs;
    for (uint32_t t = 0; t < 8; ++t) {
      sums.push_back(10 + (t > 0));
      differences.push_back(t < 1 ? 9 : 10);
      products.push_back(t > 0 ? 6 : 5);
      // High half of t × (2^n − 1): t − 1 unsigned, −1 signed, as t × −1 is; 0 for t = 0.
      highs.push_back((t == 0 ? 0 : type[0] == 'u' ? t - 1 : ~0u) + 5 + (t > 0));
    }
    expect_out(set + " add.cc" + dot + c + ", " + a + ", " + b + ";\n addc.cc" + dot + d + ", 4, 6;\n" + result, sums);
    expect_out(set + " add.cc" + dot + c + ", " + a + ", " + b + ";\n addc" + dot + d + ", 4, 6;\n" + result, sums);
    expect_out(set + " sub.cc" + dot + c + ", " + a + ", 1;\n subc.cc" + dot + d + ", 16, 6;\n" + result, differences);
    expect_out(set + " sub.cc" + dot + c + ", " + a + ", 1;\n subc" + dot + d + ", 16, 6;\n" + result, differences);
    // t × (2^n − 1) + t is t × 2^n: its low half carries unless t is 0.
    expect_out(set + " mad.lo.cc" + dot + c + ", " + a + ", " + b + ", " + a + ";\n madc.lo" + dot + d + ", 1, 2, 3;\n" + result, products);
    expect_out(set + " mad.lo.cc" + dot + c + ", " + a + ", " + b + ", " + a + ";\n madc.lo.cc" + dot + d + ", 1, 2, 3;\n" + result, products);
    expect_out(set + " mad.lo.cc" + dot + c + ", " + a + ", " + b + ", " + a + ";\n madc.hi" + dot + d + ", " + a + ", " + b + ", 5;\n" + result, highs);
    expect_out(set + " mad.hi.cc" + dot + c + ", " + b + ", " + b + ", " + b + ";\n addc" + dot + d + ", 0, 0;\n" + result,
               std::vector<uint32_t>(8, type[0] == 'u'));  // (−1)² high: 2^n − 2, and 2^n − 1 more carries; signed 0, and it does not
  }
}

TEST(Modifiers, MatchesAndPairsOfPredicates) {
  std::vector<uint32_t> need(32);
  for (uint32_t t = 0; t < 32; ++t) need[t] = 0x11111111u << (t & 3);
  expect_out(" and.b32 %r0, %t, 3;\n cvt.u64.u32 %q1, %r0;\n shl.b64 %q1, %q1, 40;\n match.any.sync.b64 %r1, %q1, -1;\n st.global.u32 [%o], %r1;", need);
  // Both halves compared at once: lower 1 < 2 and upper 2 < 1, in f16 and bf16.
  for (const auto& [type, low, high] : {std::tuple{"f16x2", 0x3c00u, 0x4000u}, std::tuple{"bf16x2", 0x3f80u, 0x4000u}}) {
    const std::string set = " mov.b32 %r0, " + std::to_string(high << 16 | low) + ";\n mov.b32 %r1, " + std::to_string(low << 16 | high) + ";\n setp.ge.u32 %p3, %t, 1;\n";
    for (const auto& [join, more, first, second] :
         {std::tuple{"", "", std::vector<uint32_t>{1, 1}, std::vector<uint32_t>{0, 0}}, std::tuple{".and", ", %p3", std::vector<uint32_t>{0, 1}, std::vector<uint32_t>{0, 0}},
          std::tuple{".or", ", %p3", std::vector<uint32_t>{1, 1}, std::vector<uint32_t>{0, 1}}, std::tuple{".xor", ", %p3", std::vector<uint32_t>{1, 0}, std::vector<uint32_t>{0, 1}}}) {
      std::vector<uint32_t> both;
      for (size_t t = 0; t < 2; ++t) both.push_back(first[t] | second[t] << 1);
      expect_out(set + " setp.lt" + join + "." + type + " %p0|%p1, %r0, %r1" + more + ";\n selp.b32 %r4, 1, 0, %p0;\n @%p1 add.s32 %r4, %r4, 2;\n st.global.u32 [%o], %r4;", both);
    }
  }
}

TEST(Modifiers, MatricesOfEveryCountAndSpelling) {
  // Rows of 16 bytes by thread: word w of thread t's row is 4 t + w. A matrix's word of thread t is word t % 4 of row t / 4.
  const std::string fill =
      " mov.u32 %r9, sm;\n mad.lo.s32 %r9, %t, 16, %r9;\n shl.b32 %r0, %t, 2;\n add.s32 %r1, %r0, 1;\n add.s32 %r2, %r0, 2;\n add.s32 %r3, %r0, 3;\n"
      " st.shared.v4.b32 [%r9], {%r0,%r1,%r2,%r3};\n bar.warp.sync -1;\n cvt.u64.u32 %q0, %r9;\n cvta.shared.u64 %q1, %q0;\n";
  const std::string registers[] = {"{%r10}", "{%r10,%r11}", "{%r10,%r11,%r12,%r13}"};
  for (const std::string space : {"", ".shared", ".shared::cta"}) {
    const std::string address = space.empty() ? "[%q1]" : "[%r9]";
    for (const std::string trans : {"", ".trans"}) {
      for (int k = 0; k < 3; ++k) {
        const std::string count = ".x" + std::to_string(1 << k);
        std::vector<uint32_t> need(32);
        for (uint32_t t = 0; t < 32; ++t) {
          const uint32_t last = (1u << k) - 1;
          if (trans.empty()) {
            need[t] = 4 * (8 * last + t / 4) + t % 4;
          } else {  // halves (row, column) of the matrix, exchanged
            const auto half = [&](uint32_t row, uint32_t column) { return column % 2 ? 0 : 4 * (8 * last + row) + column / 2; };
            need[t] = half(t % 4 * 2 + 1, t / 4) << 16 | half(t % 4 * 2, t / 4);
          }
        }
        const std::string store = " st.global.u32 [%o], %r1" + std::to_string((1 << k) - 1) + ";";
        expect_out(fill + " ldmatrix.sync.aligned.m8n8" + count + trans + space + ".b16 " + registers[k] + ", " + address + ";\n" + store, need);
        expect_out(fill + " ldmatrix.sync.aligned" + count + ".m8n8" + trans + space + ".b16 " + registers[k] + ", " + address + ";\n" + store, need);
        // Stored again the same way, the rows are as they were.
        std::vector<uint32_t> rows(32);
        for (uint32_t t = 0; t < 32; ++t) rows[t] = 4 * t + 2;
        expect_out(fill + " ldmatrix.sync.aligned.m8n8" + count + trans + ".shared.b16 " + registers[k] + ", [%r9];\n bar.warp.sync -1;\n stmatrix.sync.aligned.m8n8" + count + trans +
                       space + ".b16 " + address + ", " + registers[k] + ";\n bar.warp.sync -1;\n ld.shared.u32 %r4, [%r9+8];\n st.global.u32 [%o], %r4;",
                   rows);
      }
    }
  }
}

TEST(Modifiers, IntegerProductsSaturate) {
  // Every element 127 × 127, summed over K, on top of 2^31 − 1000; and −128 × 127 below −2^31 + 1000.
  for (const auto& [shape, sums, a, b] : {std::tuple{"m16n8k32", 4, 4, 2}, std::tuple{"m16n8k16", 4, 2, 1}, std::tuple{"m8n8k16", 2, 1, 1}}) {
    for (const bool first : {true, false}) {
      for (const bool low : {false, true}) {
        const auto list_of = [](const char* reg, int n) {
          std::string text;
          for (int k = 0; k < n; ++k) text += (k ? "," : "") + std::string(reg);
          return "{" + text + "}";
        };
        const std::string opcode = std::string("mma.sync.aligned.") + shape + ".row.col" + (first ? ".satfinite" : "") + ".s32.s8.s8.s32" + (first ? "" : ".satfinite");
        expect_out(std::string(" mov.b32 %r1, ") + (low ? "0x80808080" : "0x7f7f7f7f") + ";\n mov.b32 %r2, 0x7f7f7f7f;\n mov.b32 %r3, " + (low ? "0x800003e8" : "0x7ffffc18") + ";\n " +
                       opcode + " " + (sums == 4 ? "{%r4,%r5,%r6,%r7}" : "{%r4,%r5}") + ", " + list_of("%r1", a) + ", " + list_of("%r2", b) + ", " + list_of("%r3", sums) +
                       ";\n st.global.u32 [%o], %r4;",
                   std::vector<uint32_t>(32, low ? 0x80000000u : 0x7fffffffu));
      }
    }
  }
}

}  // namespace
}  // namespace ingot::ptx
