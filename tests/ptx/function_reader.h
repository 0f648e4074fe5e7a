// Reads the body of one kernel: declarations, labels, operands, instructions, with functions inlined where they are
// called.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/instruction_table.h"
#include "ptx/lexer.h"

namespace ingot::ptx {

// What a name stands for.
struct Symbol {
  enum Kind : uint8_t { kRegister, kVariable, kDynamicShared, kSharedOnUse } kind = kVariable;
  Type type = Type::kNone;  // of a register
  uint32_t place = 0;       // of a register
  Space space = Space::kGeneric;
  uint64_t value = 0;  // address of a variable; size, for kSharedOnUse
  uint32_t align = 1;
};

struct Declaration {
  std::string name;
  Space space = Space::kGeneric;
  bool is_register = false;
  Type type = Type::kB8;
  uint64_t count = 1;  // of elements; 0: `[]`
  uint32_t align = 0;  // 0: the type's
  int copies = -1;     // `%r<10>`
  std::vector<std::byte> initial;
  uint64_t bytes() const { return count * static_cast<uint64_t>(size_of(type)); }
  uint32_t alignment() const { return align ? align : static_cast<uint32_t>(size_of(type)); }
};

struct FunctionSource {
  std::vector<Declaration> results, parameters;
  size_t body = 0;  // the token after `{`; 0: declared only
};

// The tokens with a place in them.
struct TokenReader {
  const std::vector<Token>& tokens;
  size_t at = 0;

  const Token& peek(size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  const Token& next() { return at + 1 < tokens.size() ? tokens[at++] : tokens.back(); }
  bool take(std::string_view text) {
    const bool is = peek().is(text);
    if (is) next();
    return is;
  }
  void need(std::string_view text);
  [[noreturn]] void fail(const std::string& what) const;
  uint64_t number();                 // an integer, perhaps negative
  void skip_block();                 // from `{` to its `}`
  Declaration declaration();         // `.reg .b32 %r<5>` and the like, up to `,` `;` or `)`; also of parameters
  Declaration shape(Declaration d);  // what stands after its name
  std::vector<Declaration> list();   // `( … )`, or nothing
};

bool parse_integer(std::string_view text, uint64_t& value);
// 0f…, 0d…, or decimal; bits in `value`. Returns 32 or 64, 0 for none.
int parse_float(std::string_view text, uint64_t& value);

class FunctionReader : ConstantPlaces {
 public:
  FunctionReader(const std::vector<Token>& tokens, const std::map<std::string, Symbol, std::less<>>& module_symbols,
                 const std::map<std::string, FunctionSource, std::less<>>& functions, Kernel& kernel);
  void read(const FunctionSource& source);

 private:
  struct Fixup {
    uint32_t instruction, table;  // table: index of its entry, or ~0 for a branch
    int line;
    size_t entry;
  };
  struct Scope {
    std::unordered_map<std::string, Symbol> symbols;
    std::unordered_map<std::string, uint32_t> labels;
    std::unordered_map<std::string, std::vector<Fixup>> wanted;
    std::unordered_map<std::string, uint32_t> tables;
    bool isolated = false;  // names of the caller are not seen
  };

  uint32_t place(uint64_t value, bool wide) override;
  uint32_t new_register(Type type);
  uint32_t special(SpecialRegister which, bool wide);
  uint32_t local(uint64_t bytes, uint32_t align);
  uint32_t shared(uint64_t bytes, uint32_t align);
  void declare(const Declaration& d);
  const Symbol* find(std::string_view name);
  Operand operand(bool wide_opcode);
  Operand word_operand(std::string_view text, bool wide_opcode);
  Operand address();
  void body();
  void open_scope(bool isolated);
  void close_scope();
  void location();
  void branch_targets(const std::string& name);
  void statement();
  void emit(Instruction instruction, const Token& first, const Token& last, uint32_t guard, bool guard_not);
  void branch(const std::string& label, int line);
  void call(bool guarded);
  std::vector<Operand> arguments();
  void bind(const std::vector<Declaration>& declared, const std::vector<Operand>& given);

  TokenReader reader_;
  const std::map<std::string, Symbol, std::less<>>& module_symbols_;
  const std::map<std::string, FunctionSource, std::less<>>& functions_;
  Kernel& kernel_;
  std::vector<Scope> scopes_;
  std::map<std::pair<uint64_t, bool>, uint32_t> constant_places_;
  std::map<std::pair<SpecialRegister, bool>, uint32_t> special_places_;
  std::map<std::string, Symbol, std::less<>> shared_in_use_;
  uint32_t predicate_block_ = 0, predicates_left_ = 0, dynamic_align_ = 16;
  int32_t source_ = -1;
  int depth_ = 0;
};

}  // namespace ingot::ptx
