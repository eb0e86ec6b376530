// The engine behind its C ABI, as the verbs use it: an environment whose log goes to stderr, and loaded models.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "element.h"
#include "trunnion/trunnion.h"
#include "trunnion/trunnion.hpp"

namespace trunnion::cli {

const TrunnionApi& extras();
std::string version_text();  // "trunnion 0.1.0 (ONNX Runtime ABI 1.32.0)"

class Engine {
 public:
  // Warnings are shown, with `verbose` also what is merely interesting. Errors come as exceptions, not as log lines.
  explicit Engine(bool verbose);
  OrtEnv* get() const { return env_.get(); }

 private:
  struct Release {
    void operator()(OrtEnv* env) const { ort().ReleaseEnv(env); }
  };
  std::unique_ptr<OrtEnv, Release> env_;
};

// What an input or output is.
struct ValueType {
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  DataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  // of a tensor; of the keys of a map
  bool has_shape = false;
  Shape shape;                              // -1 for free dimensions
  std::vector<std::string> symbols;         // one for each dimension; empty where it has no name
  std::shared_ptr<const ValueType> inside;  // of a sequence or optional; the values of a map

  std::string text() const;        // tensor(float)
  std::string shape_text() const;  // [N,3,48,192], or nothing where there is none
};

struct Port {
  std::string name;
  ValueType type;
};

// "[1,3]"; symbols (may be empty) stand for dimensions below 0, else "?".
std::string shape_text(const Shape& shape, const std::vector<std::string>& symbols = {});

class LoadedModel {
 public:
  LoadedModel(const Engine& engine, const std::string& path, const SessionOptions& options);

  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const std::vector<Port>& overridable() const { return overridable_; }  // initializers that may be fed

  // inputs[i] is fed to names[i]; gives all outputs in order.
  std::vector<Value> run(const std::vector<const char*>& names, const std::vector<const OrtValue*>& inputs) const;

  std::string placement_summary() const;
  std::string placement_json() const;
  std::string load_timings_json() const;
  std::string memory_json() const;
  std::string graph_text() const;
  std::string end_profiling();  // the name of the file written

 private:
  using Extra = OrtStatus* (*)(const OrtSession*, OrtAllocator*, char**);
  std::string text_of(Extra function) const;

  struct Release {
    void operator()(OrtSession* session) const { ort().ReleaseSession(session); }
  };
  std::unique_ptr<OrtSession, Release> session_;
  std::vector<Port> inputs_, outputs_, overridable_;
  std::vector<const char*> output_names_;
};

// The JSON texts that TrunnionApi describes.
std::string inspect_json(const Engine& engine, const std::string& path, const SessionOptions& options);
std::string operators_json();
std::string environment_json(const Engine& engine);
std::string model_nodes_json(const Engine& engine, const std::string& path, const SessionOptions& options);

// Writes the part of a model between some values as a model of its own.
void extract_model(const Engine& engine, const std::string& path, const SessionOptions& options,
                   const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                   const std::string& to);

}  // namespace trunnion::cli
