// INGOT_FIELDS(a, b, …) describes the fields of a parameter struct once; hashing, printing, parsing, comparing and
// storing all walk that list. Field types: bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>
// and enums with underlying type int64_t.
#pragma once

#define INGOT_PARENS ()
#define INGOT_EXPAND(...) INGOT_EXPAND3(INGOT_EXPAND3(INGOT_EXPAND3(__VA_ARGS__)))
#define INGOT_EXPAND3(...) INGOT_EXPAND2(INGOT_EXPAND2(INGOT_EXPAND2(__VA_ARGS__)))
#define INGOT_EXPAND2(...) INGOT_EXPAND1(INGOT_EXPAND1(INGOT_EXPAND1(__VA_ARGS__)))
#define INGOT_EXPAND1(...) __VA_ARGS__
#define INGOT_VISIT_ONE(name, ...) \
  visitor(#name, self.name);       \
  __VA_OPT__(INGOT_VISIT_AGAIN INGOT_PARENS(__VA_ARGS__))
#define INGOT_VISIT_AGAIN() INGOT_VISIT_ONE

#define INGOT_FIELDS(...)                                               \
  template <class Self, class Visitor>                                  \
  static void visit_fields(Self& self, Visitor&& visitor) {             \
    (void)self, (void)visitor;                                          \
    __VA_OPT__(INGOT_EXPAND(INGOT_VISIT_ONE(__VA_ARGS__)))              \
  }
