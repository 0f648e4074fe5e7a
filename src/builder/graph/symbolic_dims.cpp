// Normal form: like terms are joined, fractions reduced, and of a quotient rounded down all that is whole stands outside it.
#include "builder/graph/symbolic_dims.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ingot {
namespace {

constexpr size_t kMostTerms = 24, kMostFactors = 8, kLargestSize = 64;
constexpr int64_t kLargestCoefficient = int64_t{1} << 40;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t floor_divide(int64_t a, int64_t b) { return a / b - ((a % b != 0 && (a % b < 0) != (b < 0)) ? 1 : 0); }

bool add_term(std::map<std::vector<uint32_t>, int64_t>& terms, const std::vector<uint32_t>& monomial, int64_t coefficient) {
  if (coefficient == 0) return true;
  const auto [place, is_new] = terms.emplace(monomial, coefficient);
  if (!is_new && __builtin_add_overflow(place->second, coefficient, &place->second)) return false;
  if (place->second == 0) terms.erase(place);
  return true;
}

// By degree, then by atoms.
const std::pair<const std::vector<uint32_t>, int64_t>& leading(const std::map<std::vector<uint32_t>, int64_t>& terms) {
  return *std::max_element(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    return a.first.size() != b.first.size() ? a.first.size() < b.first.size() : a.first < b.first;
  });
}

// 0 · ∞ is 0: what is 0 everywhere stays so.
double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

SymbolicDims::Range product_range(SymbolicDims::Range a, SymbolicDims::Range b) {
  const double ends[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)};
  return {*std::min_element(ends, ends + 4), *std::max_element(ends, ends + 4)};
}

}  // namespace

int64_t SymbolicDims::random_between(int64_t low, int64_t high) {
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  return low + static_cast<int64_t>(random_ % (static_cast<uint64_t>(high - low) + 1));
}

size_t SymbolicDims::size_of(const Terms& terms) const {
  size_t size = 1;
  for (const auto& [monomial, coefficient] : terms)
    for (uint32_t atom : monomial) size += atoms_[atom].a == kNoDim ? 1 : formulas_[atoms_[atom].a].size + formulas_[atoms_[atom].b].size;
  return size;
}

DimId SymbolicDims::intern(Terms terms, int64_t divisor) {
  if (divisor < 0) {
    divisor = -divisor;
    for (auto& [monomial, coefficient] : terms) coefficient = -coefficient;
  }
  int64_t common = divisor;
  for (const auto& [monomial, coefficient] : terms) {
    if (monomial.size() > kMostFactors || coefficient > kLargestCoefficient || coefficient < -kLargestCoefficient) return kNoDim;
    common = std::gcd(common, coefficient);
  }
  if (terms.size() > kMostTerms || divisor > kLargestCoefficient) return kNoDim;
  if (common > 1) {
    divisor /= common;
    for (auto& [monomial, coefficient] : terms) coefficient /= common;
  }
  const size_t size = size_of(terms);
  if (size > kLargestSize) return kNoDim;
  const auto [place, is_new] = ids_.emplace(std::pair(terms, divisor), static_cast<DimId>(formulas_.size()));
  if (!is_new) return place->second;
  Formula formula;
  formula.size = size;
  formula.divisor = divisor;
  for (size_t p = 0; p < kPoints; ++p) {
    int64_t total = 0;
    bool known = true;
    for (const auto& [monomial, coefficient] : terms) {
      int64_t value = coefficient;
      for (uint32_t atom : monomial) {
        known = known && atoms_[atom].values[p] != kNoValue;
        known = known && !__builtin_mul_overflow(value, atoms_[atom].values[p], &value);
      }
      known = known && !__builtin_add_overflow(total, value, &total);
    }
    formula.values[p] = known ? total : kNoValue;
  }
  formula.range = {0, 0};
  for (const auto& [monomial, coefficient] : terms) {
    Range one{1, 1};
    for (uint32_t atom : monomial) one = product_range(one, atoms_[atom].range);
    const auto factor = static_cast<double>(coefficient) / static_cast<double>(divisor);
    one = product_range(one, {factor, factor});
    formula.range.low += one.low;
    formula.range.high += one.high;
  }
  formula.terms = std::move(terms);
  formulas_.push_back(std::move(formula));
  return place->second;
}

DimId SymbolicDims::of_atom(Atom atom) {
  atoms_.push_back(std::move(atom));
  return intern({{Monomial{static_cast<uint32_t>(atoms_.size() - 1)}, 1}}, 1);
}

DimId SymbolicDims::symbol(const std::string& name, const std::array<int64_t, kProbePoints>& at_probes) {
  std::string unique = name;
  for (int suffix = 2;; ++suffix) {
    const auto known = names_.find(unique);
    if (known == names_.end()) break;
    const Atom& atom = atoms_[known->second];
    if (atom.kind == AtomKind::kSymbol && std::equal(at_probes.begin(), at_probes.end(), atom.values.begin()))
      return intern({{Monomial{known->second}, 1}}, 1);
    unique = name + "'" + std::to_string(suffix);
  }
  names_.emplace(unique, static_cast<uint32_t>(atoms_.size()));
  Atom atom{AtomKind::kSymbol, unique, kNoDim, kNoDim, {}, {}};
  const int64_t low = *std::min_element(at_probes.begin(), at_probes.end()), high = *std::max_element(at_probes.begin(), at_probes.end());
  atom.range = {static_cast<double>(low), static_cast<double>(high)};
  std::copy(at_probes.begin(), at_probes.end(), atom.values.begin());
  // Models with strides often take sizes only that divide well, as the profile's do.
  int64_t step = std::gcd(std::gcd(at_probes[0], at_probes[1]), at_probes[2]);
  if (high - low < 2 * step) step &= -step;
  if (step < 1 || high - low < 2 * step) step = 1;
  const uint32_t place = symbols_++;
  for (size_t p = kProbePoints; p < kPoints; ++p) {
    if (p < 12) atom.values[p] = (place < 3 ? (p >> place & 1) != 0 : random_between(0, 1) != 0) ? high : low;
    else if (p < 18) atom.values[p] = std::clamp(random_between((low + step - 1) / step, high / step) * step, low, high);
    else atom.values[p] = random_between(low, high);
  }
  return of_atom(std::move(atom));
}

DimId SymbolicDims::unknown(std::string name, Points values) {
  Atom atom{AtomKind::kUnknown, std::move(name), kNoDim, kNoDim, values, {kInfinity, -kInfinity}};
  for (int64_t value : values) {
    if (value == kNoValue) continue;
    atom.range.low = std::min(atom.range.low, static_cast<double>(value));
    atom.range.high = std::max(atom.range.high, static_cast<double>(value));
  }
  if (atom.range.low > atom.range.high) atom.range = {0, 0};
  for (int64_t& value : atom.values)
    if (value == kNoValue) value = random_between(static_cast<int64_t>(atom.range.low), static_cast<int64_t>(atom.range.high));
  return of_atom(std::move(atom));
}

DimId SymbolicDims::late(std::string name, const std::array<int64_t, kProbePoints>& most_at_probes) {
  Atom atom{AtomKind::kLate, std::move(name), kNoDim, kNoDim, {}, {}};
  const int64_t most = std::max<int64_t>(*std::max_element(most_at_probes.begin(), most_at_probes.end()), 0);
  atom.range = {0, static_cast<double>(most)};
  std::copy(most_at_probes.begin(), most_at_probes.end(), atom.values.begin());
  for (size_t p = kProbePoints; p < kPoints; ++p) atom.values[p] = random_between(0, most);
  return of_atom(std::move(atom));
}

DimId SymbolicDims::constant(int64_t value, int64_t divisor) {
  if (divisor == 0) return kNoDim;
  Terms terms;
  if (value != 0) terms.emplace(Monomial{}, value);
  return intern(std::move(terms), value == 0 ? 1 : divisor);
}

std::optional<int64_t> SymbolicDims::constant_value(DimId id) const {
  if (id == kNoDim || formulas_[id].divisor != 1) return std::nullopt;
  const Terms& terms = formulas_[id].terms;
  if (terms.empty()) return 0;
  if (terms.size() == 1 && terms.begin()->first.empty()) return terms.begin()->second;
  return std::nullopt;
}

DimId SymbolicDims::combine(DimId a, DimId b, int64_t sign) {
  if (a == kNoDim || b == kNoDim) return kNoDim;
  const Formula &x = formulas_[a], &y = formulas_[b];
  const int64_t common = std::gcd(x.divisor, y.divisor);
  const int64_t of_x = y.divisor / common, of_y = x.divisor / common * sign;
  Terms terms;
  int64_t divisor = 0, coefficient = 0;
  bool fits = !__builtin_mul_overflow(x.divisor, of_x, &divisor);
  for (const auto& [monomial, value] : x.terms)
    fits = fits && !__builtin_mul_overflow(value, of_x, &coefficient) && add_term(terms, monomial, coefficient);
  for (const auto& [monomial, value] : y.terms)
    fits = fits && !__builtin_mul_overflow(value, of_y, &coefficient) && add_term(terms, monomial, coefficient);
  return fits ? intern(std::move(terms), divisor) : kNoDim;
}

DimId SymbolicDims::product(DimId a, DimId b) {
  if (a == kNoDim || b == kNoDim) return kNoDim;
  const Formula &x = formulas_[a], &y = formulas_[b];
  Terms terms;
  int64_t divisor = 0, coefficient = 0;
  bool fits = !__builtin_mul_overflow(x.divisor, y.divisor, &divisor);
  for (const auto& [p, s] : x.terms)
    for (const auto& [q, t] : y.terms) {
      if (!fits || terms.size() > kMostTerms) return kNoDim;
      Monomial both;
      std::merge(p.begin(), p.end(), q.begin(), q.end(), std::back_inserter(both));
      fits = both.size() <= kMostFactors && !__builtin_mul_overflow(s, t, &coefficient) && add_term(terms, both, coefficient);
    }
  return fits ? intern(std::move(terms), divisor) : kNoDim;
}

// By the leading terms, as long as these divide.
DimId SymbolicDims::quotient(DimId a, DimId b) {
  if (a == kNoDim || b == kNoDim || formulas_[b].terms.empty()) return kNoDim;
  Terms rest = formulas_[a].terms, result;
  const Terms by = formulas_[b].terms;
  const auto& [lead, factor] = leading(by);
  // A divisor of one term may leave fractions.
  int64_t divisor = 0, numerator = formulas_[b].divisor;
  if (__builtin_mul_overflow(formulas_[a].divisor, by.size() == 1 ? factor : 1, &divisor)) return kNoDim;
  for (size_t step = 0; !rest.empty(); ++step) {
    if (step > kMostTerms) return kNoDim;
    const auto [monomial, coefficient] = leading(rest);
    if (!std::includes(monomial.begin(), monomial.end(), lead.begin(), lead.end())) return kNoDim;
    if (by.size() > 1 && coefficient % factor != 0) return kNoDim;
    Monomial left;
    std::set_difference(monomial.begin(), monomial.end(), lead.begin(), lead.end(), std::back_inserter(left));
    const int64_t share = by.size() == 1 ? coefficient : coefficient / factor;
    int64_t scaled = 0;
    if (__builtin_mul_overflow(share, numerator, &scaled) || !add_term(result, left, scaled)) return kNoDim;
    if (by.size() == 1) {
      rest.erase(monomial);
      continue;
    }
    for (const auto& [p, value] : by) {
      Monomial both;
      std::merge(p.begin(), p.end(), left.begin(), left.end(), std::back_inserter(both));
      int64_t taken = 0;
      if (both.size() > 2 * kMostFactors || __builtin_mul_overflow(value, -share, &taken) || !add_term(rest, both, taken)) return kNoDim;
    }
  }
  return intern(std::move(result), result.empty() ? 1 : divisor);
}

DimId SymbolicDims::floor(DimId a) {
  if (a == kNoDim || formulas_[a].divisor == 1) return a;
  const Terms terms = formulas_[a].terms;
  int64_t divisor = formulas_[a].divisor;
  // What is whole goes outside; coefficients inside lie in (−divisor / 2, divisor / 2].
  Terms whole, inside;
  int64_t common = divisor, left_over = 0;
  for (const auto& [monomial, coefficient] : terms) {
    int64_t times = floor_divide(coefficient, divisor), rest = coefficient - times * divisor;
    if (!monomial.empty() && 2 * rest > divisor) ++times, rest -= divisor;
    if (times != 0) whole.emplace(monomial, times);
    if (monomial.empty()) {
      left_over = rest;
    } else if (rest != 0) {
      inside.emplace(monomial, rest);
      common = std::gcd(common, rest);
    }
  }
  if (inside.empty()) return intern(std::move(whole), 1);
  for (auto& [monomial, coefficient] : inside) coefficient /= common;
  divisor /= common;
  left_over = floor_divide(left_over, common);
  const DimId outside = intern(std::move(whole), 1);
  // ⌊−x / d⌋ = −⌊(x + d − 1) / d⌋
  const bool turned = inside.rbegin()->second < 0;
  if (turned) {
    for (auto& [monomial, coefficient] : inside) coefficient = -coefficient;
    left_over = divisor - 1 - left_over;
  }
  if (divisor == 1) {
    DimId exact = intern(std::move(inside), 1);
    exact = sum(exact, constant(left_over));
    return turned ? difference(outside, exact) : sum(outside, exact);
  }
  const auto& [monomial, coefficient] = *inside.begin();
  DimId rounded = kNoDim;
  if (inside.size() == 1 && coefficient == 1 && monomial.size() == 1 && atoms_[monomial[0]].kind == AtomKind::kFloorQuotient &&
      constant_value(atoms_[monomial[0]].b)) {
    // ⌊(⌊x / m⌋ + c) / d⌋ = ⌊(x + c·m) / (m·d)⌋
    const Atom inner = atoms_[monomial[0]];
    const int64_t m = *constant_value(inner.b);
    int64_t shift = 0, both = 0;
    if (__builtin_mul_overflow(left_over, m, &shift) || __builtin_mul_overflow(m, divisor, &both)) return kNoDim;
    rounded = floor(quotient(sum(inner.a, constant(shift)), constant(both)));
  } else {
    if (left_over != 0) inside.emplace(Monomial{}, left_over);
    rounded = of_operation(AtomKind::kFloorQuotient, intern(std::move(inside), 1), constant(divisor));
  }
  return turned ? difference(outside, rounded) : sum(outside, rounded);
}

DimId SymbolicDims::floor_quotient(DimId a, DimId b) {
  if (const DimId exact = quotient(a, b); exact != kNoDim) return floor(exact);
  if (a == kNoDim || b == kNoDim || !(range(b).low >= 1) || formulas_[a].divisor != 1 || formulas_[b].divisor != 1) return kNoDim;
  return of_operation(AtomKind::kFloorQuotient, a, b);
}

DimId SymbolicDims::least(DimId a, DimId b) {
  if (a == kNoDim || b == kNoDim) return kNoDim;
  const DimId gap = difference(a, b);
  if (gap != kNoDim && range(gap).high <= 0) return a;
  if (gap != kNoDim && range(gap).low >= 0) return b;
  return of_operation(AtomKind::kLeast, std::min(a, b), std::max(a, b));
}

DimId SymbolicDims::greatest(DimId a, DimId b) {
  if (a == kNoDim || b == kNoDim) return kNoDim;
  const DimId gap = difference(a, b);
  if (gap != kNoDim && range(gap).low >= 0) return a;
  if (gap != kNoDim && range(gap).high <= 0) return b;
  return of_operation(AtomKind::kGreatest, std::min(a, b), std::max(a, b));
}

DimId SymbolicDims::of_operation(AtomKind kind, DimId a, DimId b) {
  if (a == kNoDim || b == kNoDim) return kNoDim;
  const auto known = operations_.find({kind, a, b});
  if (known != operations_.end()) return intern({{Monomial{known->second}, 1}}, 1);
  const Formula &x = formulas_[a], &y = formulas_[b];
  if (x.divisor != 1 || y.divisor != 1) return kNoDim;
  Atom atom{kind, {}, a, b, {}, {}};
  for (size_t p = 0; p < kPoints; ++p) {
    const int64_t s = x.values[p], t = y.values[p];
    if (s == kNoValue || t == kNoValue || (kind == AtomKind::kFloorQuotient && t <= 0)) atom.values[p] = kNoValue;
    else if (kind == AtomKind::kFloorQuotient) atom.values[p] = floor_divide(s, t);
    else atom.values[p] = kind == AtomKind::kLeast ? std::min(s, t) : std::max(s, t);
  }
  if (kind == AtomKind::kFloorQuotient) {
    const double ends[] = {x.range.low / y.range.low, x.range.low / y.range.high, x.range.high / y.range.low, x.range.high / y.range.high};
    atom.range = {std::floor(*std::min_element(ends, ends + 4)), std::floor(*std::max_element(ends, ends + 4))};
    if (std::isnan(atom.range.low) || std::isnan(atom.range.high)) atom.range = {-kInfinity, kInfinity};
  } else if (kind == AtomKind::kLeast) {
    atom.range = {std::min(x.range.low, y.range.low), std::min(x.range.high, y.range.high)};
  } else {
    atom.range = {std::max(x.range.low, y.range.low), std::max(x.range.high, y.range.high)};
  }
  operations_.emplace(std::tuple(kind, a, b), static_cast<uint32_t>(atoms_.size()));
  return of_atom(std::move(atom));
}

std::string SymbolicDims::atom_text(const Atom& atom) const {
  switch (atom.kind) {
    case AtomKind::kSymbol: return atom.name;
    case AtomKind::kUnknown: case AtomKind::kLate: return "unknown " + atom.name;
    case AtomKind::kFloorQuotient: {
      const std::string a = text(atom.a), b = text(atom.b);
      const auto braced = [&](const std::string& part, DimId id) { return formulas_[id].terms.size() > 1 ? '(' + part + ')' : part; };
      const bool is_product = b.find('*') != std::string::npos;
      return "floor(" + braced(a, atom.a) + '/' + (is_product ? '(' + b + ')' : braced(b, atom.b)) + ')';
    }
    case AtomKind::kLeast: return "min(" + text(atom.a) + ',' + text(atom.b) + ')';
    case AtomKind::kGreatest: return "max(" + text(atom.a) + ',' + text(atom.b) + ')';
  }
  return {};
}

std::string SymbolicDims::term_text(const Monomial& monomial, int64_t coefficient) const {
  std::string text = coefficient == 1 && !monomial.empty() ? "" : std::to_string(coefficient);
  for (uint32_t atom : monomial) text += (text.empty() ? "" : "*") + atom_text(atoms_[atom]);
  return text;
}

// Products first, numbers last; a difference begins with what is not taken away.
std::string SymbolicDims::sum_text(const Terms& terms) const {
  std::string text;
  std::vector<std::pair<Monomial, int64_t>> order(terms.begin(), terms.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    if (a.first.size() != b.first.size()) return a.first.size() > b.first.size();
    return a.second > 0 && b.second < 0;
  });
  std::stable_partition(order.begin(), order.end(), [](const auto& term) { return !term.first.empty() && term.second > 0; });
  for (const auto& [monomial, coefficient] : order) {
    if (!text.empty()) text += coefficient < 0 ? '-' : '+';
    else if (coefficient < 0) text += '-';
    text += term_text(monomial, coefficient < 0 ? -coefficient : coefficient);
  }
  return text.empty() ? "0" : text;
}

std::string SymbolicDims::text(DimId id) const {
  if (id == kNoDim) return "?";
  const Formula& formula = formulas_[id];
  const std::string sum = sum_text(formula.terms);
  if (formula.divisor == 1) return sum;
  return (formula.terms.size() > 1 ? '(' + sum + ')' : sum) + '/' + std::to_string(formula.divisor);
}

std::vector<SymbolicDims::Named> SymbolicDims::named(const std::vector<DimId>& formulas) const {
  std::vector<DimId> left = formulas;
  std::vector<bool> seen(formulas_.size()), occurs(atoms_.size());
  while (!left.empty()) {
    const DimId id = left.back();
    left.pop_back();
    if (id == kNoDim || seen[id]) continue;
    seen[id] = true;
    for (const auto& [monomial, coefficient] : formulas_[id].terms)
      for (uint32_t atom : monomial) {
        occurs[atom] = true;
        left.push_back(atoms_[atom].a);
        left.push_back(atoms_[atom].b);
      }
  }
  std::vector<Named> list;
  for (size_t i = 0; i < atoms_.size(); ++i)
    if (const Atom& atom = atoms_[i]; occurs[i] && atom.a == kNoDim)
      list.push_back({atom.name, static_cast<int64_t>(atom.range.low), static_cast<int64_t>(atom.range.high), atom.kind == AtomKind::kSymbol});
  return list;
}

}  // namespace ingot
