// Formulas: normal form, values, ranges and text; each checked against numbers at all points.
#include "builder/graph/symbolic_dims.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace ingot {
namespace {

class Formulas : public ::testing::Test {
 protected:
  SymbolicDims dims;
  const DimId batch = dims.symbol("batch", {1, 4, 8, 3}), seq = dims.symbol("seq", {0, 16, 512, 37}), w = dims.symbol("w", {32, 320, 960, 501});
  DimId number(int64_t n) { return dims.constant(n); }
  DimId half(DimId a) { return dims.floor(dims.quotient(a, number(2))); }
  void expect_values(DimId id, const std::function<double(double batch, double seq, double w)>& f) {
    ASSERT_NE(id, kNoDim);
    for (size_t p = 0; p < SymbolicDims::kPoints; ++p) {
      const auto at = [&](DimId symbol) { return static_cast<double>(dims.values(symbol)[p]); };
      EXPECT_EQ(static_cast<double>(dims.values(id)[p]) / static_cast<double>(dims.divisor(id)), f(at(batch), at(seq), at(w))) << dims.text(id) << " at point " << p;
      EXPECT_LE(dims.range(id).low, f(at(batch), at(seq), at(w)));
      EXPECT_GE(dims.range(id).high, f(at(batch), at(seq), at(w)));
    }
  }
};

TEST_F(Formulas, EqualOnesAreOne) {
  const DimId twice = dims.sum(dims.product(number(2), seq), number(1));
  EXPECT_EQ(dims.text(twice), "2*seq+1");
  EXPECT_EQ(dims.sum(seq, dims.sum(number(1), seq)), twice);
  EXPECT_EQ(dims.product(dims.sum(seq, number(1)), batch), dims.sum(dims.product(batch, seq), batch));
  EXPECT_EQ(dims.quotient(dims.product(twice, dims.product(batch, number(12))), dims.product(batch, number(4))), dims.product(twice, number(3)));
  EXPECT_EQ(dims.difference(twice, twice), number(0));
  EXPECT_EQ(dims.constant_value(dims.difference(dims.sum(seq, number(7)), seq)), 7);
  EXPECT_NE(batch, seq);
  EXPECT_EQ(dims.quotient(dims.product(twice, dims.sum(w, seq)), dims.sum(seq, w)), twice);
  EXPECT_EQ(dims.quotient(twice, batch), kNoDim);
  expect_values(twice, [](double, double s, double) { return 2 * s + 1; });
}

TEST_F(Formulas, QuotientsAreRoundedOnce) {
  const DimId once = half(dims.sum(w, number(1)));
  EXPECT_EQ(dims.text(once), "floor((w+1)/2)");
  const DimId thrice = half(dims.sum(half(dims.sum(once, number(1))), number(1)));
  EXPECT_EQ(dims.text(thrice), "floor((w+7)/8)");
  expect_values(thrice, [](double, double, double x) { return std::ceil(std::ceil(std::ceil(x / 2) / 2) / 2); });
  EXPECT_EQ(dims.floor(dims.quotient(dims.product(w, number(8)), number(4))), dims.product(w, number(2)));
  EXPECT_EQ(dims.text(dims.floor(dims.quotient(dims.product(w, number(3)), number(2)))), "w+floor(w/2)");
  // Rounded up: two ways to spell it.
  const DimId up = dims.difference(number(0), dims.floor(dims.quotient(dims.difference(number(0), w), number(8))));
  EXPECT_EQ(up, dims.floor(dims.quotient(dims.sum(w, number(7)), number(8))));
  const DimId by_batch = dims.floor_quotient(dims.sum(w, seq), batch);
  EXPECT_EQ(dims.text(by_batch), "floor((seq+w)/batch)");
  expect_values(by_batch, [](double b, double s, double x) { return std::floor((x + s) / b); });
  EXPECT_EQ(dims.floor_quotient(w, seq), kNoDim) << "seq may be 0";
}

TEST_F(Formulas, RandomOnesKeepTheirValues) {
  uint32_t state = 1;
  const auto random = [&](uint32_t n) { return (state = state * 1664525u + 1013904223u, (state >> 8) % n); };
  int built = 0;
  for (int round = 0; round < 500; ++round) {
    std::vector<std::pair<DimId, std::array<double, SymbolicDims::kPoints>>> made;
    const auto add = [&](DimId id, auto&& value) {
      made.emplace_back();
      made.back().first = id;
      for (size_t p = 0; p < SymbolicDims::kPoints; ++p) made.back().second[p] = value(p);
    };
    for (DimId symbol : {batch, seq, w}) add(symbol, [&](size_t p) { return static_cast<double>(dims.values(symbol)[p]); });
    for (int64_t n : {1, 3, 8}) add(number(n), [&](size_t) { return static_cast<double>(n); });
    for (int step = 0; step < 6; ++step) {
      const auto a = made[random(static_cast<uint32_t>(made.size()))], b = made[random(static_cast<uint32_t>(made.size()))];
      const int64_t n = 1 + random(9);
      DimId id = kNoDim;
      std::function<double(size_t)> value;
      switch (random(6)) {
        case 0: id = dims.sum(a.first, b.first), value = [&](size_t p) { return a.second[p] + b.second[p]; }; break;
        case 1: id = dims.difference(a.first, b.first), value = [&](size_t p) { return a.second[p] - b.second[p]; }; break;
        case 2: id = dims.product(a.first, b.first), value = [&](size_t p) { return a.second[p] * b.second[p]; }; break;
        case 3: id = dims.floor(dims.quotient(a.first, number(n))), value = [&](size_t p) { return std::floor(a.second[p] / static_cast<double>(n)); }; break;
        case 4: id = dims.least(a.first, b.first), value = [&](size_t p) { return std::min(a.second[p], b.second[p]); }; break;
        default: id = dims.greatest(a.first, b.first), value = [&](size_t p) { return std::max(a.second[p], b.second[p]); }; break;
      }
      if (id == kNoDim) continue;
      add(id, value);
      ++built;
      const auto range = dims.range(id);
      for (size_t p = 0; p < SymbolicDims::kPoints; ++p) {
        if (std::abs(made.back().second[p]) > 1e12) continue;
        ASSERT_EQ(static_cast<double>(dims.values(id)[p]), made.back().second[p]) << dims.text(id);
        ASSERT_LE(range.low, made.back().second[p]) << dims.text(id);
        ASSERT_GE(range.high, made.back().second[p]) << dims.text(id);
      }
    }
  }
  EXPECT_GT(built, 2000);
}

TEST_F(Formulas, AreBounded) {
  DimId id = w;
  for (int i = 0; i < 1000 && id != kNoDim; ++i) id = dims.least(dims.sum(id, seq), dims.product(batch, number(1000 + i)));
  EXPECT_EQ(id, kNoDim);
  id = dims.sum(w, seq);
  for (int i = 0; i < 100 && id != kNoDim; ++i) id = dims.product(id, dims.sum(w, seq));
  EXPECT_EQ(id, kNoDim);
  id = w;
  for (int i = 0; i < 100 && id != kNoDim; ++i) id = dims.product(id, number(1 << 20));
  EXPECT_EQ(id, kNoDim);
}

TEST_F(Formulas, NamesSayWhatIsEqual) {
  EXPECT_EQ(dims.symbol("batch", {1, 4, 8, 3}), batch);
  const DimId other = dims.symbol("batch", {1, 2, 4, 3});
  EXPECT_NE(other, batch);
  EXPECT_EQ(dims.text(other), "batch'2");
  SymbolicDims::Points values;
  values.fill(SymbolicDims::kNoValue);
  values[0] = 2, values[1] = 5, values[2] = 9, values[3] = 4;
  const DimId unknown = dims.unknown("y.0", values);
  EXPECT_EQ(dims.text(dims.sum(unknown, number(1))), "unknown y.0+1");
  const auto named = dims.named({dims.sum(unknown, half(w)), batch});
  ASSERT_EQ(named.size(), 3u);
  EXPECT_EQ(named[0].name, "batch");
  EXPECT_EQ(named[1].high, 960);
  EXPECT_FALSE(named[2].is_symbol);
  EXPECT_EQ(named[2].low, 2);
}

}  // namespace
}  // namespace ingot
