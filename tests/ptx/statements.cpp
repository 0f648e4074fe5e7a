// Instructions of a body: branches, calls and returns are made here, all others by the instruction table.
#include "ptx/function_reader.h"

namespace ingot::ptx {
namespace {

constexpr size_t kMostInstructions = 2'000'000;
constexpr int kDeepest = 24;

std::string one_line(const Token& first, const Token& last) {
  const std::string_view all(first.text.data(),
                             static_cast<size_t>(last.text.data() + last.text.size() - first.text.data()));
  std::string text;
  for (const char c : all) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!blank)
      text += c;
    else if (!text.empty() && text.back() != ' ')
      text += ' ';
  }
  return text;
}

}  // namespace

void FunctionReader::emit(Instruction i, const Token& first, const Token& last, uint32_t guard, bool guard_not) {
  if (kernel_.code.size() >= kMostInstructions) reader_.fail("too many instructions");
  i.line = first.line;
  i.source = source_;
  i.guard = guard;
  i.guard_not = guard_not;
  kernel_.code.push_back(i);
  kernel_.text.push_back(first.text.empty() ? "(end)" : one_line(first, last));
}

void FunctionReader::branch(const std::string& label, int line) {
  scopes_.back().wanted[label].push_back({static_cast<uint32_t>(kernel_.code.size()), ~0u, line, 0});
}

void FunctionReader::statement() {
  const Token& first = reader_.peek();
  uint32_t guard = kNoRegister;
  bool guard_not = false;
  if (reader_.take("@")) {
    guard_not = reader_.take("!");
    const Symbol* s = find(reader_.next().text);
    if (!s || s->kind != Symbol::kRegister || s->type != Type::kPred) reader_.fail("a guard that is no predicate");
    guard = s->place;
  }
  const Token& opcode = reader_.next();
  const std::string_view name = opcode.text.substr(0, opcode.text.find('.'));
  const auto end = [&]() -> const Token& {
    const Token& last = reader_.tokens[reader_.at - 1];
    reader_.need(";");
    return last;
  };
  Instruction i;
  for (uint32_t& r : i.r) r = kNoRegister;
  if (name == "call") {
    if (opcode.text != "call" && opcode.text != "call.uni")
      reader_.fail("modifiers not known: got '" + std::string(opcode.text) + "'");
    call(guard != kNoRegister);
    return;
  }
  if (name == "bra") {
    if (opcode.text != "bra" && opcode.text != "bra.uni")
      reader_.fail("modifiers not known: got '" + std::string(opcode.text) + "'");
    i.flow = Flow::kBranch;
    const Token& label = reader_.next();
    branch(std::string(label.text), label.line);
    emit(i, first, end(), guard, guard_not);
    return;
  }
  if (opcode.text == "brx.idx" || opcode.text == "brx.idx.uni") {
    i.flow = Flow::kBranchIndexed;
    const Operand index = operand(false);
    if (index.kind != Operand::kRegister) reader_.fail("brx.idx: need a register");
    i.r[0] = index.place;
    reader_.need(",");
    const std::string table(reader_.next().text);
    bool known = false;
    for (const Scope& s : scopes_) {
      const auto it = s.tables.find(table);
      if (it == s.tables.end()) continue;
      i.target = it->second;
      known = true;
    }
    if (!known) reader_.fail("table of branch targets not known: got '" + table + "'");
    emit(i, first, end(), guard, guard_not);
    return;
  }
  if (opcode.text == "ret" || opcode.text == "ret.uni") {
    if (depth_ == 0) {
      i.flow = Flow::kExit;
    } else {
      i.flow = Flow::kBranch;
      branch("(return)", first.line);
    }
    emit(i, first, end(), guard, guard_not);
    return;
  }
  const bool wide = opcode.text.ends_with("64");
  std::vector<Operand> operands;
  while (!reader_.peek().is(";")) {
    operands.push_back(operand(wide));
    if (!reader_.peek().is(";")) reader_.need(",");
  }
  const Token& last = reader_.tokens[reader_.at - 1];
  try {
    i = decode(opcode.text, operands, *this);
  } catch (const PtxError& e) {
    throw PtxError("ptx: line " + std::to_string(first.line) + ": " + e.what() + " in '" + one_line(first, last) + "'");
  }
  if (name == "atom" || name == "red") kernel_.has_atomics = true;
  reader_.need(";");
  emit(i, first, last, guard, guard_not);
}

std::vector<Operand> FunctionReader::arguments() {
  std::vector<Operand> all;
  if (!reader_.take("(")) return all;
  while (!reader_.take(")")) {
    all.push_back(operand(false));
    if (!reader_.peek().is(")")) reader_.need(",");
  }
  return all;
}

// Names of the callee for places of the caller.
void FunctionReader::bind(const std::vector<Declaration>& declared, const std::vector<Operand>& given) {
  if (declared.size() != given.size()) {
    reader_.fail("a call's arguments: got " + std::to_string(given.size()) + ", need " +
                 std::to_string(declared.size()));
  }
  for (size_t k = 0; k < declared.size(); ++k) {
    const Declaration& d = declared[k];
    const Operand& o = given[k];
    Symbol s;
    if (d.is_register) {
      s.kind = Symbol::kRegister;
      s.type = d.type;
      if (o.kind == Operand::kConstant)
        s.place = place(o.value, size_of(d.type) == 8);
      else if (o.kind == Operand::kRegister && size_of(o.type) == size_of(d.type))
        s.place = o.place;
      else
        reader_.fail("a call's argument does not fit '" + d.name + "'");
    } else {
      if (o.kind != Operand::kConstant || o.space != Space::kLocal)
        reader_.fail("a call's argument must be a .param variable for '" + d.name + "'");
      s.kind = Symbol::kVariable;
      s.space = Space::kLocal;
      s.value = o.value;
    }
    scopes_.back().symbols[d.name] = s;
  }
}

void FunctionReader::call(bool guarded) {
  const Token& first = reader_.tokens[reader_.at - 1];
  if (guarded) reader_.fail("a call under a predicate is not known");
  std::vector<Operand> results;
  if (reader_.peek().is("(")) {
    results = arguments();
    reader_.need(",");
  }
  const std::string name(reader_.next().text);
  std::vector<Operand> given;
  if (reader_.take(",")) given = arguments();
  if (!reader_.peek().is(";")) reader_.fail("an indirect call is not known");
  const Token& last = reader_.tokens[reader_.at - 1];
  reader_.next();
  const auto it = functions_.find(name);
  if (it == functions_.end()) reader_.fail("function not known: got '" + name + "'");
  if (it->second.body == 0) {
    if (name != "__assertfail") reader_.fail("function without a body: got '" + name + "'");
    Instruction i;
    for (uint32_t& r : i.r) r = kNoRegister;
    i.flow = Flow::kTrap;
    emit(i, first, last, kNoRegister, false);
    return;
  }
  if (++depth_ > kDeepest) reader_.fail("calls too deep, or recursion: in '" + name + "'");
  const size_t back = reader_.at;
  const int32_t source = source_;
  open_scope(true);
  bind(it->second.results, results);
  bind(it->second.parameters, given);
  reader_.at = it->second.body;
  body();
  scopes_.back().labels["(return)"] = static_cast<uint32_t>(kernel_.code.size());
  close_scope();
  reader_.at = back;
  source_ = source;
  --depth_;
}

}  // namespace ingot::ptx
