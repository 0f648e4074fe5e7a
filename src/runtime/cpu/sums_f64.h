// Folds of float rows in double, the accuracy of reference code: one value for each column, or one for a whole row. Pairs
// of lanes in plain vector types, so that every machine gives the same bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace ingot::cpu {

struct Doubles {
  typedef double Lanes __attribute__((vector_size(16)));
  typedef float Floats __attribute__((vector_size(8)));
  static Lanes load(const float* x) {
    Floats f;
    std::memcpy(&f, x, sizeof f);
    return __builtin_convertvector(f, Lanes);
  }
  static Lanes load(const double* x) {
    Lanes d;
    std::memcpy(&d, x, sizeof d);
    return d;
  }
  static void store(double* x, Lanes d) { std::memcpy(x, &d, sizeof d); }
};

// What is done with each element; T is double or Doubles::Lanes.
struct FoldSum {
  static constexpr double kStart = 0;
  template <class T> static T take(T total, T x) { return total + x; }
  static double join(double a, double b) { return a + b; }
};
struct FoldSquares {
  static constexpr double kStart = 0;
  template <class T> static T take(T total, T x) { return total + x * x; }
  static double join(double a, double b) { return a + b; }
};
struct FoldMagnitudes {
  static constexpr double kStart = 0;
  template <class T> static T take(T total, T x) { return total + (x < 0 ? -x : x); }
  static double join(double a, double b) { return a + b; }
};
struct FoldProduct {
  static constexpr double kStart = 1;
  template <class T> static T take(T total, T x) { return total * x; }
  static double join(double a, double b) { return a * b; }
};
// NaN wins: a total that is NaN stays, an x that is NaN is taken.
struct FoldMax {
  static constexpr double kStart = -__builtin_inf();
  template <class T> static T take(T top, T x) { return x <= top ? top : (top == top ? x : top); }
  static double join(double a, double b) { return take(a, b); }
};
struct FoldMin {
  static constexpr double kStart = __builtin_inf();
  template <class T> static T take(T top, T x) { return x >= top ? top : (top == top ? x : top); }
  static double join(double a, double b) { return take(a, b); }
};

// totals[i] takes x[i].
template <class Fold>
void fold_columns(double* totals, const float* x, int64_t n) {
  int64_t i = 0;
  for (; i + 2 <= n; i += 2) Doubles::store(totals + i, Fold::take(Doubles::load(totals + i), Doubles::load(x + i)));
  for (; i < n; ++i) totals[i] = Fold::take(totals[i], static_cast<double>(x[i]));
}

// All of a row, in eight pairs of lanes.
template <class Fold>
double fold_row(const float* x, int64_t n) {
  constexpr int kChains = 8;
  Doubles::Lanes totals[kChains];
  for (auto& total : totals) total = Doubles::Lanes{} + Fold::kStart;
  int64_t i = 0;
  for (; i + 2 * kChains <= n; i += 2 * kChains)
    for (int chain = 0; chain < kChains; ++chain) totals[chain] = Fold::take(totals[chain], Doubles::load(x + i + 2 * chain));
  double total = Fold::kStart;
  for (const auto& lanes : totals)
    for (int lane = 0; lane < 2; ++lane) total = Fold::join(total, lanes[lane]);
  for (; i < n; ++i) total = Fold::take(total, static_cast<double>(x[i]));
  return total;
}

}  // namespace ingot::cpu
