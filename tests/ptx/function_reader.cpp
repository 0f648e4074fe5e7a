// Scopes are a stack: inline assembly opens them, and so does an inlined call, from within which the caller's names are
// not seen.
#include "ptx/function_reader.h"

namespace ingot::ptx {
namespace {

constexpr std::pair<std::string_view, SpecialRegister> kSpecials[] = {
    {"%tid.x", SpecialRegister::kTidX},
    {"%tid.y", SpecialRegister::kTidY},
    {"%tid.z", SpecialRegister::kTidZ},
    {"%ntid.x", SpecialRegister::kNtidX},
    {"%ntid.y", SpecialRegister::kNtidY},
    {"%ntid.z", SpecialRegister::kNtidZ},
    {"%ctaid.x", SpecialRegister::kCtaidX},
    {"%ctaid.y", SpecialRegister::kCtaidY},
    {"%ctaid.z", SpecialRegister::kCtaidZ},
    {"%nctaid.x", SpecialRegister::kNctaidX},
    {"%nctaid.y", SpecialRegister::kNctaidY},
    {"%nctaid.z", SpecialRegister::kNctaidZ},
    {"%laneid", SpecialRegister::kLaneid},
    {"%warpid", SpecialRegister::kWarpid},
    {"%nwarpid", SpecialRegister::kNwarpid},
    {"%lanemask_eq", SpecialRegister::kLanemaskEq},
    {"%lanemask_lt", SpecialRegister::kLanemaskLt},
    {"%lanemask_le", SpecialRegister::kLanemaskLe},
    {"%lanemask_gt", SpecialRegister::kLanemaskGt},
    {"%lanemask_ge", SpecialRegister::kLanemaskGe},
    {"%smid", SpecialRegister::kSmid},
    {"%nsmid", SpecialRegister::kNsmid},
    {"%dynamic_smem_size", SpecialRegister::kDynamicSize},
    {"%total_smem_size", SpecialRegister::kTotalSize},
};

uint32_t align_up(uint64_t x, uint32_t a) { return static_cast<uint32_t>((x + a - 1) / a * a); }

}  // namespace

FunctionReader::FunctionReader(const std::vector<Token>& tokens,
                               const std::map<std::string, Symbol, std::less<>>& module_symbols,
                               const std::map<std::string, FunctionSource, std::less<>>& functions, Kernel& kernel)
    : reader_{tokens}, module_symbols_(module_symbols), functions_(functions), kernel_(kernel) {}

void FunctionReader::read(const FunctionSource& source) {
  reader_.at = source.body;
  open_scope(true);
  uint32_t offset = 0;
  for (const Declaration& d : source.parameters) {
    offset = align_up(offset, d.alignment());
    kernel_.parameters.push_back({d.name, offset, static_cast<uint32_t>(d.bytes())});
    scopes_.back().symbols[d.name] = {Symbol::kVariable, Type::kNone, 0, Space::kParam, offset, 1};
    offset += static_cast<uint32_t>(d.bytes());
  }
  kernel_.parameter_bytes = offset;
  body();
  // A thread may also end by running past the last instruction.
  emit(decode("exit", {}, *this), reader_.peek(), reader_.peek(), kNoRegister, false);
  close_scope();
  kernel_.dynamic_base = align_up(kernel_.static_shared, dynamic_align_);
  if (kernel_.static_shared == 0) kernel_.dynamic_base = 0;
  kernel_.register_bytes = align_up(kernel_.register_bytes, 64);
}

uint32_t FunctionReader::place(uint64_t value, bool wide) {
  const auto [it, fresh] = constant_places_.try_emplace({value, wide}, 0);
  if (fresh) {
    it->second = new_register(wide ? Type::kB64 : Type::kB32);
    kernel_.constants.push_back({it->second, wide, value});
  }
  return it->second;
}

uint32_t FunctionReader::new_register(Type type) {
  const auto take = [&](uint32_t bytes) {
    const uint32_t at = kernel_.register_bytes;
    if (at > 64u << 20) reader_.fail("too many registers");
    kernel_.register_bytes += bytes;
    return at;
  };
  if (type == Type::kPred) {  // one word a warp
    if (predicates_left_ == 0) {
      predicate_block_ = take(64);
      predicates_left_ = 16;
    }
    return predicate_block_ + 4 * --predicates_left_;
  }
  return take(size_of(type) == 8 ? 256 : 128);
}

uint32_t FunctionReader::special(SpecialRegister which, bool wide) {
  const auto [it, fresh] = special_places_.try_emplace({which, wide}, 0);
  if (fresh) {
    it->second = new_register(wide ? Type::kB64 : Type::kB32);
    kernel_.specials.push_back({it->second, wide, which});
  }
  return it->second;
}

uint32_t FunctionReader::local(uint64_t bytes, uint32_t align) {
  const uint32_t at = align_up(kernel_.local_bytes, std::max(align, 1u));
  if (bytes > 512u << 10) reader_.fail("too much local memory");
  kernel_.local_bytes = align_up(at + bytes, 16);
  return at;
}

uint32_t FunctionReader::shared(uint64_t bytes, uint32_t align) {
  const uint32_t at = align_up(kernel_.static_shared, align);
  if (bytes > 1u << 20) reader_.fail("too much shared memory");
  kernel_.static_shared = static_cast<uint32_t>(at + bytes);
  return at;
}

void FunctionReader::declare(const Declaration& d) {
  auto& symbols = scopes_.back().symbols;
  if (d.is_register) {
    if (d.copies < 0) {
      symbols[d.name] = {Symbol::kRegister, d.type, new_register(d.type), Space::kGeneric, 0, 1};
    }
    for (int k = 0; k < d.copies; ++k)
      symbols[d.name + std::to_string(k)] = {Symbol::kRegister, d.type, new_register(d.type), Space::kGeneric, 0, 1};
    if (d.type != Type::kPred) kernel_.registers_32 += std::max(d.copies, 1) * (size_of(d.type) == 8 ? 2 : 1);
    return;
  }
  if (!d.initial.empty())
    reader_.fail("'" + d.name + "' has an initial value, which only variables of a module may have");
  switch (d.space) {
    case Space::kShared:
      symbols[d.name] = {Symbol::kVariable, Type::kNone, 0, Space::kShared, shared(d.bytes(), d.alignment()), 1};
      return;
    case Space::kLocal:
    case Space::kParam:
      symbols[d.name] = {Symbol::kVariable, Type::kNone, 0, Space::kLocal, local(d.bytes(), d.alignment()), 1};
      return;
    default:
      reader_.fail("a declaration inside a function: got '" + d.name + "', need .reg, .shared, .local or .param");
  }
}

const Symbol* FunctionReader::find(std::string_view name) {
  const std::string key(name);
  for (size_t k = scopes_.size(); k-- > 0;) {
    const auto it = scopes_[k].symbols.find(key);
    if (it != scopes_[k].symbols.end()) return &it->second;
    if (scopes_[k].isolated) break;
  }
  const auto in_use = shared_in_use_.find(name);
  if (in_use != shared_in_use_.end()) return &in_use->second;
  const auto it = module_symbols_.find(name);
  if (it == module_symbols_.end()) return nullptr;
  if (it->second.kind == Symbol::kSharedOnUse) {  // takes room in those kernels only that use it
    Symbol s = it->second;
    s.kind = Symbol::kVariable;
    s.value = shared(s.value, s.align);
    return &shared_in_use_.emplace(key, s).first->second;
  }
  if (it->second.kind == Symbol::kDynamicShared) dynamic_align_ = std::max(dynamic_align_, it->second.align);
  return &it->second;
}

Operand FunctionReader::word_operand(std::string_view text, bool wide_opcode) {
  Operand o;
  if (const Symbol* s = find(text)) {
    switch (s->kind) {
      case Symbol::kRegister:
        o.kind = Operand::kRegister;
        o.type = s->type;
        o.place = s->place;
        return o;
      case Symbol::kDynamicShared:
        o.kind = Operand::kRegister;
        o.type = wide_opcode ? Type::kB64 : Type::kB32;
        o.place = special(SpecialRegister::kDynamicBase, wide_opcode);
        o.space = Space::kShared;
        return o;
      default:
        o.kind = Operand::kConstant;
        o.value = s->value;
        o.space = s->space;
        return o;
    }
  }
  for (const auto& [name, which] : kSpecials) {
    if (name == text) {
      o.kind = Operand::kRegister;
      o.type = Type::kU32;
      o.place = special(which, false);
      return o;
    }
  }
  if (text == "WARP_SZ") text = "32";
  if (parse_integer(text, o.value)) {
    o.kind = Operand::kConstant;
    return o;
  }
  if (text[0] >= '0' && text[0] <= '9') {
    o.kind = Operand::kConstant;
    o.float_bits = parse_float(text, o.value);
    if (o.float_bits) return o;
  }
  if (text[0] == '%') reader_.fail("register not known: got '" + std::string(text) + "'");
  o.kind = Operand::kName;
  o.name = text;
  return o;
}

Operand FunctionReader::address() {
  reader_.need("[");
  Operand o;
  o.kind = Operand::kAddress;
  const std::string_view text = reader_.next().text;
  const Operand base = word_operand(text, true);
  if (base.kind == Operand::kName) reader_.fail("name not known: got '" + std::string(text) + "'");
  o.space = base.space;
  if (base.kind == Operand::kRegister) {
    o.type = base.type;
    o.place = base.place;
  } else {
    o.displacement = static_cast<int64_t>(base.value);
  }
  if (reader_.take("+"))
    o.displacement += static_cast<int64_t>(reader_.number());
  else if (reader_.peek().is("-"))
    o.displacement += static_cast<int64_t>(reader_.number());
  reader_.need("]");
  return o;
}

Operand FunctionReader::operand(bool wide_opcode) {
  if (reader_.peek().is("[")) return address();
  Operand o;
  if (reader_.take("{")) {
    o.kind = Operand::kVector;
    while (!reader_.take("}")) {
      o.parts.push_back(operand(false));
      if (!reader_.peek().is("}")) reader_.need(",");
    }
    return o;
  }
  const bool negated = reader_.take("!"), minus = reader_.take("-");
  o = word_operand(reader_.next().text, wide_opcode);
  o.negated = negated;
  if (minus) {
    if (o.kind != Operand::kConstant) reader_.fail("a minus before what is no number");
    o.value = o.float_bits == 64   ? o.value ^ 1ull << 63
              : o.float_bits == 32 ? o.value ^ 1u << 31
                                   : uint64_t{0} - o.value;
  }
  if (reader_.take("|")) {
    Operand pair;
    pair.kind = Operand::kPair;
    pair.parts = {o, word_operand(reader_.next().text, false)};
    return pair;
  }
  if (reader_.take("+")) {
    if (o.kind != Operand::kConstant) reader_.fail("an offset from what is no variable");
    o.value += reader_.number();
  }
  return o;
}

void FunctionReader::open_scope(bool isolated) {
  scopes_.emplace_back();
  scopes_.back().isolated = isolated;
}

void FunctionReader::close_scope() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (auto& [label, fixups] : scope.wanted) {
    const auto it = scope.labels.find(label);
    if (it != scope.labels.end()) {
      for (const Fixup& f : fixups) {
        if (f.table == ~0u)
          kernel_.code[f.instruction].target = it->second;
        else
          kernel_.branch_tables[f.table][f.entry] = it->second;
      }
    } else if (scope.isolated || scopes_.empty()) {
      throw PtxError("ptx: line " + std::to_string(fixups[0].line) + ": label not known: got '" + label + "'");
    } else {
      auto& outer = scopes_.back().wanted[label];
      outer.insert(outer.end(), fixups.begin(), fixups.end());
    }
  }
}

// .loc file line column[, function_name name[+offset], inlined_at file line column]: ends without a semicolon.
void FunctionReader::location() {
  SourcePlace p;
  p.file = static_cast<int>(reader_.number());
  p.line = static_cast<int>(reader_.number());
  reader_.number();
  if (reader_.take(",")) {
    reader_.need("function_name");
    reader_.next();
    if (reader_.take("+")) reader_.number();
    reader_.need(",");
    reader_.need("inlined_at");
    p.outer_file = static_cast<int>(reader_.number());
    p.outer_line = static_cast<int>(reader_.number());
    reader_.number();
  }
  source_ = static_cast<int32_t>(kernel_.sources.size());
  kernel_.sources.push_back(p);
}

void FunctionReader::branch_targets(const std::string& name) {
  const uint32_t table = static_cast<uint32_t>(kernel_.branch_tables.size());
  kernel_.branch_tables.emplace_back();
  scopes_.back().tables[name] = table;
  do {
    const Token& label = reader_.next();
    scopes_.back().wanted[std::string(label.text)].push_back(
        {0, table, label.line, kernel_.branch_tables[table].size()});
    kernel_.branch_tables[table].push_back(0);
  } while (reader_.take(","));
  reader_.need(";");
}

void FunctionReader::body() {
  const size_t depth = scopes_.size();
  for (;;) {
    const Token& token = reader_.peek();
    if (token.text.empty()) reader_.fail("a function that does not end");
    if (reader_.take("{")) {
      open_scope(false);
    } else if (reader_.take("}")) {
      if (scopes_.size() == depth) return;
      close_scope();
    } else if (reader_.take(";")) {
    } else if (reader_.peek(1).is(":")) {
      const std::string name(reader_.next().text);
      reader_.next();
      if (reader_.take(".branchtargets")) {
        branch_targets(name);
      } else if (!scopes_.back().labels.emplace(name, static_cast<uint32_t>(kernel_.code.size())).second) {
        reader_.fail("label given twice: got '" + name + "'");
      }
    } else if (reader_.take(".loc")) {
      location();
    } else if (reader_.take(".pragma")) {
      while (!reader_.take(";")) reader_.next();
    } else if (token.text.starts_with('.')) {
      Declaration d = reader_.declaration();
      declare(d);
      while (reader_.take(",")) {
        d.name = reader_.next().text;
        d.copies = -1;
        d.count = 1;
        d = reader_.shape(d);
        declare(d);
      }
      reader_.need(";");
    } else {
      statement();
    }
  }
}

}  // namespace ingot::ptx
