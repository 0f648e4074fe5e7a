// Matches modifiers slot by slot, then operands word by word.
#include "ptx/instruction_table.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <set>
#include <unordered_map>

namespace ingot::ptx {
namespace {

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(at, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

struct Slot {
  std::vector<std::string_view> choices;
  bool optional = false;
};

struct ParsedForm {
  const Form* form;
  std::vector<Slot> slots;
  std::vector<std::string_view> operands;
};

using Table = std::unordered_map<std::string_view, std::vector<ParsedForm>>;

const Table& table() {
  static const Table all = [] {
    Table t;
    for (const auto forms :
         {integer_forms(), bit_forms(), float_forms(), rounded_forms(), half_forms(), compare_forms(), convert_forms(),
          memory_forms(), atomic_forms(), async_copy_forms(), matrix_forms(), warp_forms()}) {
      for (const Form& form : forms) {
        auto words = split(form.pattern, ' ');
        ParsedForm parsed{&form, {}, {}};
        for (size_t k = 1; k < words.size(); ++k) {
          const bool optional = words[k].ends_with('?');
          if (optional) words[k].remove_suffix(1);
          parsed.slots.push_back({split(words[k], '|'), optional});
        }
        if (*form.operands) parsed.operands = split(form.operands, ' ');
        t[words[0]].push_back(std::move(parsed));
      }
    }
    return t;
  }();
  return all;
}

bool match_modifiers(const ParsedForm& form, const std::vector<std::string_view>& words, Match& match) {
  match = {};
  size_t k = 1;
  for (const Slot& slot : form.slots) {
    std::string_view taken;
    if (k < words.size()) {
      for (const auto choice : slot.choices) {
        if (choice == words[k]) taken = words[k];
      }
    }
    if (taken.empty() && !slot.optional) return false;
    k += !taken.empty();
    match.slots.push_back(taken);
    if (const Type t = type_named(taken); t != Type::kNone) {
      if (match.first == Type::kNone) match.first = t;
      match.type = t;
    }
  }
  return k == words.size();
}

struct Placer {
  Instruction& out;
  ConstantPlaces& constants;
  const Match& match;
  int count = 0, addresses = 0;
  std::string why;

  bool push(uint32_t place, bool wide = false) {
    if (count >= 19) return fail("too many operands");
    if (wide) out.wide |= 1u << count;
    out.r[count++] = place;
    return true;
  }
  bool fail(std::string text) {
    if (why.empty()) why = std::move(text);
    return false;
  }

  // One register or immediate of `bytes`; relaxed registers may be wider.
  bool value(const Operand& o, int bytes, bool is_float, bool destination, bool relaxed) {
    if (o.kind == Operand::kName && o.name == "_" && destination) return push(kNoRegister);
    if (o.kind == Operand::kRegister) {
      if (o.negated) return fail("a value cannot be negated");
      if (o.type == Type::kPred) return fail("a predicate where a value is needed");
      const int size = size_of(o.type);
      if (size != bytes && !(relaxed && size > bytes)) {
        return fail("register of " + std::to_string(size * 8) + " bits, need " + std::to_string(bytes * 8));
      }
      return push(o.place, size == 8);
    }
    if (o.kind != Operand::kConstant || destination)
      return fail(destination ? "need a register" : "need a register or a constant");
    uint64_t bits = o.value;
    if (is_float && o.float_bits == 64 && bytes == 4)
      bits = std::bit_cast<uint32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    if (is_float && o.float_bits == 32 && bytes == 8)
      bits = std::bit_cast<uint64_t>(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
    if (bytes < 8) bits &= (uint64_t{1} << bytes * 8) - 1;
    return push(constants.place(bits, bytes == 8), bytes == 8);
  }

  bool predicate(const Operand& o, bool destination) {
    if (o.kind == Operand::kName && o.name == "_" && destination) return push(kNoRegister);
    if (o.kind == Operand::kConstant && !destination) return push(constants.place(o.value ? kAllLanes : 0, false));
    if (o.kind != Operand::kRegister || o.type != Type::kPred) return fail("need a predicate");
    if (o.negated && destination) return fail("a destination cannot be negated");
    if (o.negated) out.predicate_not = true;
    return push(o.place);
  }

  bool place(std::string_view word, const Operand& o) {
    const bool destination = word.starts_with('=');
    if (destination) word.remove_prefix(1);
    if (word == "p") return predicate(o, destination);
    if (word == "pq") {
      if (o.kind == Operand::kPair) return predicate(o.parts[0], true) && predicate(o.parts[1], true);
      return predicate(o, true) && push(kNoRegister);
    }
    if (word == "dp" || word == "ep") {
      const int bytes = word == "ep" ? 4 : size_of(match.type);
      if (o.kind == Operand::kPair) return value(o.parts[0], bytes, false, true, false) && predicate(o.parts[1], true);
      return value(o, bytes, false, true, false) && push(kNoRegister);
    }
    if (word == "a") {
      if (o.kind != Operand::kAddress) return fail("need an address in brackets");
      (addresses++ == 0 ? out.displacement : out.displacement2) = o.displacement;
      if (o.space != Space::kGeneric && addresses == 1) out.space = o.space;
      return push(o.place, o.type != Type::kNone && size_of(o.type) == 8);
    }
    if (word == "#") {
      if (o.kind != Operand::kConstant) return fail("need a constant");
      out.imm = static_cast<int64_t>(o.value);
      return true;
    }
    if (word == "pack") {
      const size_t n = o.kind == Operand::kVector ? o.parts.size() : 0;
      if (n != 2 && n != 4) return fail("need a vector of 2 or 4");
      out.vector = static_cast<uint8_t>(n);
      for (const Operand& part : o.parts) {
        if (!value(part, size_of(match.type) / static_cast<int>(n), false, destination, false)) return false;
      }
      return true;
    }
    int vector = 0;
    if (word.starts_with('v')) {
      vector = match.has("v2") ? 2 : match.has("v4") ? 4 : 1;
      out.vector = static_cast<uint8_t>(vector);
      word.remove_prefix(1);
    } else if (word[0] >= '1' && word[0] <= '9') {
      vector = word[0] - '0';
      word.remove_prefix(1);
      if (o.kind != Operand::kVector && vector > 1) return fail("need a vector");
    }
    const bool relaxed = word.starts_with('~');
    if (relaxed) word.remove_prefix(1);
    Type type = match.type;
    int bytes = size_of(type);
    if (word == "D") {
      type = match.first;
      bytes = size_of(type);
    } else if (word == "W") {
      bytes *= 2;
    } else if (word != "T") {
      type = type_named(word);
      bytes = size_of(type);
    }
    if (type == Type::kPred) return predicate(o, destination);
    if (vector == 0 || (vector == 1 && o.kind != Operand::kVector))
      return value(o, bytes, is_float(type), destination, relaxed);
    if (o.kind != Operand::kVector || o.parts.size() != static_cast<size_t>(vector))
      return fail("need a vector of " + std::to_string(vector));
    for (const Operand& part : o.parts) {
      if (!value(part, bytes, is_float(type), destination, relaxed)) return false;
    }
    return true;
  }
};

}  // namespace

Instruction decode(std::string_view opcode, const std::vector<Operand>& operands, ConstantPlaces& constants) {
  const auto words = split(opcode, '.');
  const auto found = table().find(words[0]);
  if (found == table().end()) throw PtxError("opcode not known: got '" + std::string(words[0]) + "'");
  std::string why = "modifiers not known";
  for (const ParsedForm& form : found->second) {
    Match match;
    if (!match_modifiers(form, words, match)) continue;
    Instruction out;
    for (uint32_t& r : out.r) r = kNoRegister;
    out.type = match.type;
    out.ftz = match.has("ftz");
    out.sat = match.has("sat");
    Placer placer{out, constants, match, 0, 0, {}};
    size_t k = 0;
    bool fits = true;
    for (auto word : form.operands) {
      const bool optional = word.ends_with('?');
      if (optional) word.remove_suffix(1);
      if (k == operands.size()) {
        fits = optional && placer.push(kNoRegister);
        if (!fits) {
          placer.fail("too few operands");
          break;
        }
        continue;
      }
      if (!placer.place(word, operands[k])) {
        fits = false;
        break;
      }
      ++k;
    }
    if (fits && k != operands.size()) fits = placer.fail("too many operands");
    if (!fits) {
      why = "operand " + std::to_string(k + 1) + ": " + placer.why;
      continue;
    }
    out.exec = form.form->select(match, out);
    if (out.exec) return out;
    why = "this combination of modifiers is not known";
  }
  throw PtxError(why + ": got '" + std::string(opcode) + "'");
}

std::vector<std::string> known_opcodes() {
  std::set<std::string> names;
  for (const auto& [name, forms] : table()) names.emplace(name);
  return {names.begin(), names.end()};
}

std::vector<std::string> choices_missing_in(std::span<const std::string> instructions) {
  std::vector<std::string> missing;
  for (const auto& [name, forms] : table()) {
    for (const ParsedForm& form : forms) {
      std::vector<std::set<std::string_view>> seen(form.slots.size());
      for (const std::string& text : instructions) {
        const auto words = split(text, '.');
        Match match;
        if (words[0] != name || !match_modifiers(form, words, match)) continue;
        for (size_t k = 0; k < seen.size(); ++k) seen[k].insert(match.slots[k]);
      }
      for (size_t k = 0; k < seen.size(); ++k) {
        auto choices = form.slots[k].choices;
        if (form.slots[k].optional) choices.emplace_back();
        for (const std::string_view choice : choices) {
          if (!seen[k].count(choice))
            missing.push_back(std::string(form.form->pattern) + ": " + (choice.empty() ? "absent" : std::string(choice)));
        }
      }
    }
  }
  std::sort(missing.begin(), missing.end());
  return missing;
}

}  // namespace ingot::ptx
