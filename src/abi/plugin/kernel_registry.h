// Kernels that plugins bring instead of compiling: what each of them runs. They are kept and can be asked for; no
// session runs them yet.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/handles.h"

struct OrtDataType {
  trunnion::DType type;
};

// Which nodes a kernel runs, and on which memory.
struct OrtKernelDef {
  std::string op_type, domain, provider;
  int since_first = 1, since_last = 1;
  std::map<size_t, OrtMemType> input_memory, output_memory;  // not listed: OrtMemTypeDefault
  std::map<std::string, std::vector<const OrtDataType*>> types;
  struct Alias {
    int input, output;
    bool writable;
  };
  std::vector<Alias> aliases;
};

struct OrtKernelDefBuilder {
  OrtKernelDef def;
};

struct OrtKernelRegistry {
  struct Entry {
    std::unique_ptr<const OrtKernelDef> def;
    OrtKernelCreateFunc create;
    void* state;
  };
  std::vector<Entry> kernels;
};
