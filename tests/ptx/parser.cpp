// The module's level: directives, variables, functions. Kernels are read when all names are known.
#include "ptx/parser.h"

#include <cstring>

#include "ptx/function_reader.h"

namespace ingot::ptx {
namespace {

class ModuleReader {
 public:
  ModuleReader(const std::vector<Token>& tokens, Module& module, DeviceMemory& memory)
      : reader_{tokens}, module_(module), memory_(memory) {}

  void read() {
    reader_.need(".version");
    version(reader_.next().text);
    while (!reader_.peek().text.empty()) directive();
    if (module_.target == 0) reader_.fail("no .target");
    for (const auto& [name, entry] : entries_) {
      FunctionReader(reader_.tokens, symbols_, functions_, *module_.kernels[name]).read(entry);
    }
  }

 private:
  void version(std::string_view text) {
    const size_t dot = text.find('.');
    uint64_t major = 0, minor = 0;
    if (dot == std::string_view::npos || !parse_integer(text.substr(0, dot), major) ||
        !parse_integer(text.substr(dot + 1), minor) || major < 6 || major > 9) {
      reader_.fail("PTX version: got '" + std::string(text) + "', need 6.0 to 9.x");
    }
    module_.version = static_cast<int>(major * 10 + minor);
  }

  void target() {
    do {
      const std::string_view text = reader_.next().text;
      uint64_t number = 0;
      const std::string_view digits =
          text.starts_with("sm_") ? text.substr(3, text.size() - 3 - (text.ends_with('a') || text.ends_with('f'))) : "";
      if (parse_integer(digits, number))
        module_.target = static_cast<int>(number);
      else if (text != "debug" && text != "texmode_independent")
        reader_.fail("target: got '" + std::string(text) + "', need sm_NN");
    } while (reader_.take(","));
  }

  void directive() {
    if (reader_.take(";")) return;
    bool is_extern = false;
    for (;;) {
      if (reader_.take(".extern"))
        is_extern = true;
      else if (!reader_.take(".visible") && !reader_.take(".weak") && !reader_.take(".common"))
        break;
    }
    const std::string_view word = reader_.peek().text;
    if (word == ".target") {
      reader_.next();
      target();
    } else if (word == ".address_size") {
      reader_.next();
      if (reader_.number() != 64) reader_.fail("address size: need 64");
    } else if (word == ".file") {
      reader_.next();
      const int number = static_cast<int>(reader_.number());
      const std::string_view name = reader_.next().text;
      module_.files[number] = std::string(name.substr(1, name.size() < 2 ? 0 : name.size() - 2));
      while (reader_.take(",")) reader_.number();
    } else if (word == ".section") {
      reader_.next();
      reader_.next();
      reader_.skip_block();
    } else if (word == ".pragma") {
      while (!reader_.take(";")) reader_.next();
    } else if (word == ".loc") {
      reader_.next();
      for (int k = 0; k < 3; ++k) reader_.number();
    } else if (word == ".entry") {
      reader_.next();
      entry();
    } else if (word == ".func") {
      reader_.next();
      function();
    } else if (word == ".global" || word == ".const" || word == ".shared") {
      variables(is_extern);
    } else {
      reader_.fail("directive not known: got '" + std::string(word) + "'");
    }
  }

  void entry() {
    const std::string name(reader_.next().text);
    FunctionSource source;
    source.parameters = reader_.list();
    auto kernel = std::make_unique<Kernel>();
    kernel->name = name;
    const auto sizes = [&](uint32_t* three) {
      for (int k = 0; k < 3; ++k) {
        three[k] = k && !reader_.take(",") ? 1 : static_cast<uint32_t>(reader_.number());
      }
      return three[0] * three[1] * three[2];
    };
    while (!reader_.peek().is("{")) {
      const std::string_view word = reader_.next().text;
      uint32_t three[3];
      if (word == ".maxntid")
        kernel->max_threads = sizes(three);
      else if (word == ".reqntid")
        kernel->max_threads = sizes(kernel->required);
      else if (word == ".minnctapersm")
        kernel->min_blocks = static_cast<uint32_t>(reader_.number());
      else if (word == ".maxnreg")
        reader_.number();
      else if (word == ".pragma") {
        while (!reader_.take(";")) reader_.next();
      } else
        reader_.fail("directive of a kernel not known: got '" + std::string(word) + "'");
    }
    source.body = reader_.at + 1;
    reader_.skip_block();
    if (!entries_.emplace(name, source).second) reader_.fail("kernel given twice: got '" + name + "'");
    module_.kernels[name] = std::move(kernel);
  }

  void function() {
    FunctionSource source;
    source.results = reader_.list();
    const std::string name(reader_.next().text);
    source.parameters = reader_.list();
    while (reader_.take(".noreturn")) {
    }
    if (reader_.peek().is("{")) {
      source.body = reader_.at + 1;
      reader_.skip_block();
    } else {
      reader_.need(";");
    }
    FunctionSource& known = functions_[name];
    if (known.body && source.body) reader_.fail("function given twice: got '" + name + "'");
    if (!known.body) known = std::move(source);
  }

  void variables(bool is_extern) {
    Declaration d = reader_.declaration();
    variable(d, is_extern);
    while (reader_.take(",")) {
      d.name = reader_.next().text;
      d.count = 1;
      d.initial.clear();
      d = reader_.shape(d);
      variable(d, is_extern);
    }
    reader_.need(";");
  }

  void variable(const Declaration& d, bool is_extern) {
    Symbol s;
    s.space = d.space;
    s.align = std::max(d.alignment(), 1u);
    if (d.space == Space::kShared) {
      if (d.count == 0 && !is_extern) reader_.fail("shared memory without a size must be .extern");
      s.kind = d.count == 0 ? Symbol::kDynamicShared : Symbol::kSharedOnUse;
      s.value = d.bytes();
    } else {
      if (is_extern || d.bytes() == 0) reader_.fail("a variable of another module is not known: '" + d.name + "'");
      s.value = memory_.allocate(d.bytes(), true, d.space == Space::kConst);
      std::byte* data = memory_.view(s.value, d.bytes());
      std::memset(data, 0, d.bytes());
      std::memcpy(data, d.initial.data(), d.initial.size());
      memory_.mark_written(s.value, d.bytes());
      module_.variables[d.name] = {s.value, d.bytes(), d.space == Space::kConst};
    }
    if (!symbols_.emplace(d.name, s).second) reader_.fail("variable given twice: got '" + d.name + "'");
  }

  TokenReader reader_;
  Module& module_;
  DeviceMemory& memory_;
  std::map<std::string, Symbol, std::less<>> symbols_;
  std::map<std::string, FunctionSource, std::less<>> functions_;
  std::map<std::string, FunctionSource, std::less<>> entries_;
};

}  // namespace

std::unique_ptr<Module> parse_module(std::string_view text, DeviceMemory& memory) {
  const std::vector<Token> tokens = tokenize(text);
  auto module = std::make_unique<Module>();
  ModuleReader(tokens, *module, memory).read();
  return module;
}

}  // namespace ingot::ptx
