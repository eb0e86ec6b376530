// ONNX Runtime as a peer: the C ABI of the engine's own header, of another library. Older releases have the first part
// of the table, which is all that is used here.
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "bench_peer.h"
#include "failure.h"

namespace trunnion::cli {
namespace {

class OnnxRuntime final : public Peer {
 public:
  explicit OnnxRuntime(const std::string& library) {
    void* handle = open_library(library, true);
    if (dlsym(handle, "TrunnionGetApi")) unusable("{} is trunnion itself, not ONNX Runtime", library);
    using GetBase = const OrtApiBase* (*)();
    const auto base = reinterpret_cast<GetBase>(symbol_of(handle, "OrtGetApiBase", library))();
    version_ = base->GetVersionString();
    unsigned minor = 0;  // "1.32.0": the version of the table is 32
    const size_t dot = version_.find('.');
    if (dot != version_.npos) std::from_chars(version_.data() + dot + 1, version_.data() + version_.size(), minor);
    api_ = base->GetApi(std::min<uint32_t>(minor ? minor : ORT_API_VERSION, ORT_API_VERSION));
    if (!api_) unusable("{} (version {}) does not have the C interface that is needed", library, version_);
  }

  ~OnnxRuntime() override {
    clear();
    for (OrtValue* value : made_) api_->ReleaseValue(value);
    if (session_) api_->ReleaseSession(session_);
    if (env_) api_->ReleaseEnv(env_);
  }

  std::string version() const override { return version_; }

  void load(const std::string& model, int threads, const std::vector<Feed>& feeds) override {
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bench", &env_));
    OrtSessionOptions* options = nullptr;
    check(api_->CreateSessionOptions(&options));
    const std::unique_ptr<OrtSessionOptions, void (*)(OrtSessionOptions*)> owner(options, api_->ReleaseSessionOptions);
    check(api_->SetIntraOpNumThreads(options, threads));
    check(api_->SetInterOpNumThreads(options, 1));
    check(api_->CreateSession(env_, model.c_str(), options, &session_));
    size_t count = 0;
    check(api_->SessionGetOutputCount(session_, &count));
    OrtAllocator* allocator = nullptr;
    check(api_->GetAllocatorWithDefaultOptions(&allocator));
    for (size_t i = 0; i < count; ++i) {
      char* name = nullptr;
      check(api_->SessionGetOutputName(session_, i, allocator, &name));
      output_texts_.emplace_back(name);
      allocator->Free(allocator, name);
    }
    for (const std::string& name : output_texts_) output_names_.push_back(name.c_str());
    outputs_.resize(count);
    for (const Feed& feed : feeds) add(feed);
  }

  void run() override {
    clear();
    check(api_->Run(session_, nullptr, names_.data(), values_.data(), values_.size(), output_names_.data(),
                    output_names_.size(), outputs_.data()));
  }

  std::vector<std::vector<std::byte>> outputs() override {
    std::vector<std::vector<std::byte>> all;
    for (OrtValue* value : outputs_) all.push_back(bytes_of(value));
    return all;
  }

 private:
  void check(OrtStatus* status) const {
    if (!status) return;
    const std::string text = api_->GetErrorMessage(status);
    api_->ReleaseStatus(status);
    unusable("ONNX Runtime {}: {}", version_, text);
  }

  void add(const Feed& feed) {
    if (feed.arrays.size() != 1 || !feed.arrays[0].text.empty())
      unusable("input '{}' is a {}: only tensors of numbers are compared", feed.name, feed.type);
    const Array& array = feed.arrays[0];
    OrtMemoryInfo* memory = nullptr;
    check(api_->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    OrtValue* value = nullptr;
    OrtStatus* status = api_->CreateTensorWithDataAsOrtValue(memory, const_cast<std::byte*>(array.data.get()),
                                                             storage_bytes(array.type, array.count), array.shape.data(),
                                                             array.shape.size(), array.type, &value);
    api_->ReleaseMemoryInfo(memory);
    check(status);
    made_.push_back(value);
    names_.push_back(feed.name.c_str());
    values_.push_back(value);
  }

  std::vector<std::byte> bytes_of(OrtValue* value) const {
    ONNXType kind = ONNX_TYPE_UNKNOWN;
    if (value) check(api_->GetValueType(value, &kind));
    if (kind != ONNX_TYPE_TENSOR) return {};
    OrtTensorTypeAndShapeInfo* info = nullptr;
    check(api_->GetTensorTypeAndShape(value, &info));
    size_t count = 0;
    DataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    OrtStatus* status = api_->GetTensorShapeElementCount(info, &count);
    if (!status) status = api_->GetTensorElementType(info, &type);
    api_->ReleaseTensorTypeAndShapeInfo(info);
    check(status);
    if (element_facts(type).bits == 0) return {};
    void* data = nullptr;
    check(api_->GetTensorMutableData(value, &data));
    std::vector<std::byte> bytes(storage_bytes(type, count));
    if (!bytes.empty()) std::memcpy(bytes.data(), data, bytes.size());
    return bytes;
  }

  void clear() {
    for (OrtValue*& value : outputs_) {
      if (value) api_->ReleaseValue(value);
      value = nullptr;
    }
  }

  const OrtApi* api_ = nullptr;
  std::string version_;
  OrtEnv* env_ = nullptr;
  OrtSession* session_ = nullptr;
  std::vector<OrtValue*> made_, outputs_;
  std::vector<const char*> names_, output_names_;
  std::vector<const OrtValue*> values_;
  std::vector<std::string> output_texts_;
};

}  // namespace

std::unique_ptr<Peer> open_onnxruntime(const std::string& library) { return std::make_unique<OnnxRuntime>(library); }

}  // namespace trunnion::cli
