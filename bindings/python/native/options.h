// The native parts of SessionOptions and RunOptions.
#pragma once
#include <atomic>
#include <vector>

#include "engine.h"

namespace trunnion::python {

struct Options {
  SessionOptionsPtr handle;
  std::vector<nb::object> owners;  // what the options only borrow: initializers, buffers of files
};

struct RunOptions {
  RunOptionsPtr handle;
  bool terminate = false;
  bool only_execute_path_to_fetches = false;
};

struct LoraAdapter {
  LoraAdapterPtr handle;
};

// The keys and values of a dict of str, as the ABI takes them; valid while this object is.
class PairArrays {
 public:
  explicit PairArrays(nb::handle dict);
  const char* const* keys() const { return keys_.data(); }
  const char* const* values() const { return values_.data(); }
  size_t size() const { return keys_.size(); }

 private:
  std::vector<std::string> texts_;
  std::vector<const char*> keys_, values_;
};

}  // namespace trunnion::python
