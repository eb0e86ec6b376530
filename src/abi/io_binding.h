// What stands behind an OrtIoBinding.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "abi/handles.h"

struct OrtIoBinding {
  struct Entry {
    std::string name;
    OrtValue value;
    bool given = true;                                      // an output: false when each run allocates it anew ...
    std::shared_ptr<const OrtMemoryInfo> device = nullptr;  // ... there; null: in the host's memory
  };
  OrtSession* session;
  std::vector<Entry> inputs, outputs;

  TRN_HANDLE(OrtIoBinding);
};
