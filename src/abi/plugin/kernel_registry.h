// Kernels that plugins bring instead of compiling: which nodes each of them runs. region.h runs them.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "abi/handles.h"
#include "ir/graph.h"

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

  TRN_HANDLE(OrtKernelDef);
};

struct OrtKernelDefBuilder {
  OrtKernelDef def;

  TRN_HANDLE(OrtKernelDefBuilder);
};

struct OrtKernelRegistry {
  struct Entry {
    std::unique_ptr<const OrtKernelDef> def;
    OrtKernelCreateFunc create;
    void* state;
  };
  std::vector<Entry> kernels;
  std::multimap<std::string, size_t, std::less<>> by_op;  // indices into kernels

  // The kernel for the node's operator, version and types; null: there is none.
  const Entry* find(const trunnion::ir::Node& node) const;

  TRN_HANDLE(OrtKernelRegistry);
};

namespace trunnion::abi {

// Whether the kernel takes input i, or gives output i, in the host's memory.
bool takes_host(const OrtKernelDef& def, size_t i);
bool gives_host(const OrtKernelDef& def, size_t i);

}  // namespace trunnion::abi
