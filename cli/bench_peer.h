// Another engine that a model's times are compared with, reached through its C interface.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "feeds.h"

namespace trunnion::cli {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string version() const = 0;
  // Makes the model ready with these inputs, which must outlive the peer. Failures are Failure, in the peer's words.
  virtual void load(const std::string& model, int threads, const std::vector<Feed>& feeds) = 0;
  virtual void run() = 0;
  // The bytes of each output of the last run; empty for what is no tensor of numbers.
  virtual std::vector<std::vector<std::byte>> outputs() = 0;
};

// `library` is the path of the shared library. `bf16`: in bfloat16, where the engine has it; else strictly in float32.
std::unique_ptr<Peer> open_onnxruntime(const std::string& library);
std::unique_ptr<Peer> open_openvino(const std::string& library, bool bf16);

// Bad usage of --against when there is no such engine.
void check_engine(const std::string& engine);

// The library that `given` names, or that of the package which the Python interpreter has. Fails, saying what is
// missing and what would help.
std::string find_library(const std::string& engine, const std::string& given, const std::string& python);

// A function of a loaded library.
void* open_library(const std::string& path, bool own_symbols_first);
void* symbol_of(void* library, const char* name, const std::string& path);

}  // namespace trunnion::cli
