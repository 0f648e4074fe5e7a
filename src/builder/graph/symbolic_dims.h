// Dims as formulas over the dims of a model's inputs: polynomials with integer coefficients, over symbols and over quotients
// rounded down, least and greatest ones. Equal formulas have equal ids, since each is kept once and in a normal form.
//
// Each formula also has its value at some points of the profile: the probes, corners of the ranges, and random points in
// between. They are what a formula that was guessed from a few values is checked with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace ingot {

using DimId = uint32_t;
inline constexpr DimId kNoDim = ~uint32_t{0};  // no formula

class SymbolicDims {
 public:
  static constexpr size_t kPoints = 32, kProbePoints = 4;  // the probes come first
  static constexpr int64_t kNoValue = INT64_MIN;
  using Points = std::array<int64_t, kPoints>;

  // A dim of an input that the profile lets vary: its values at the probes min, opt, max and one between. A name that is taken,
  // with the same values, is the same symbol; with others it is not, and gets a suffix.
  DimId symbol(const std::string& name, const std::array<int64_t, kProbePoints>& at_probes);
  // One of which no formula is known, only values at some points; the others it takes at random from between these. One that
  // depends on data may be any from 0 to its most.
  DimId unknown(std::string name, Points values);
  DimId late(std::string name, const std::array<int64_t, kProbePoints>& most_at_probes);

  // Each gives kNoDim where an operand is, and where the result would be too large to be of use.
  DimId constant(int64_t value, int64_t divisor = 1);
  DimId sum(DimId a, DimId b) { return combine(a, b, 1); }
  DimId difference(DimId a, DimId b) { return combine(a, b, -1); }
  DimId product(DimId a, DimId b);
  DimId quotient(DimId a, DimId b);        // exact, a fraction by a constant included; kNoDim where it is not
  DimId floor(DimId a);                    // of a fraction
  DimId floor_quotient(DimId a, DimId b);  // ⌊a / b⌋, b > 0
  DimId least(DimId a, DimId b);
  DimId greatest(DimId a, DimId b);

  std::optional<int64_t> constant_value(DimId id) const;  // of an integer
  // Values at the points, times divisor(); kNoValue where there is none.
  const Points& values(DimId id) const { return formulas_[id].values; }
  int64_t divisor(DimId id) const { return formulas_[id].divisor; }
  // No value lies outside of it, whatever the inputs are within the profile; infinities where that is all that is known.
  struct Range {
    double low, high;
  };
  Range range(DimId id) const { return formulas_[id].range; }
  std::string text(DimId id) const;  // "2*seq+1", "floor((w+1)/2)", "unknown scores.1"
  // Symbols and unknown dims that occur in formulas, in the order in which they came: name and range.
  struct Named {
    std::string name;
    int64_t low, high;
    bool is_symbol;
  };
  std::vector<Named> named(const std::vector<DimId>& formulas) const;
  int64_t random_between(int64_t low, int64_t high);

  // What was found out before: of equal keys the formulas are the same. And how often type rules may still be asked in search of
  // a formula: a hostile model has dims without end that none fits.
  std::map<std::vector<int64_t>, std::vector<std::vector<DimId>>> inferred;
  int64_t questions_left = int64_t{1} << 19;

 private:
  enum class AtomKind : uint8_t { kSymbol, kUnknown, kLate, kFloorQuotient, kLeast, kGreatest };
  struct Atom {
    AtomKind kind;
    std::string name;
    DimId a = kNoDim, b = kNoDim;
    Points values;
    Range range;
  };
  using Monomial = std::vector<uint32_t>;  // atoms, ascending, repeated for powers
  using Terms = std::map<Monomial, int64_t>;
  struct Formula {
    Terms terms;
    int64_t divisor = 1;
    Points values;  // numerators
    Range range;
    size_t size = 1;  // atoms in it, those within atoms included
  };

  DimId intern(Terms terms, int64_t divisor);
  size_t size_of(const Terms& terms) const;
  DimId of_atom(Atom atom);
  DimId of_operation(AtomKind kind, DimId a, DimId b);
  DimId combine(DimId a, DimId b, int64_t sign);
  std::string term_text(const Monomial& monomial, int64_t coefficient) const;
  std::string sum_text(const Terms& terms) const;
  std::string atom_text(const Atom& atom) const;

  std::vector<Atom> atoms_;
  std::vector<Formula> formulas_;
  std::map<std::pair<Terms, int64_t>, DimId> ids_;
  std::map<std::tuple<AtomKind, DimId, DimId>, uint32_t> operations_;
  std::map<std::string, uint32_t> names_;
  uint32_t symbols_ = 0;
  uint64_t random_ = 0x9e3779b97f4a7c15ull;
};

}  // namespace ingot
