// OpenVINO as a peer, through the functions of libopenvino_c, whose types are opaque here. Inputs are copied once into
// the tensors of the request, so that its numbers of element types, which differ between releases, are not needed.
#include <cstring>

#include "bench_peer.h"
#include "failure.h"

namespace trunnion::cli {
namespace {

struct OvShape {
  int64_t rank;
  int64_t* dims;
};
struct OvVersion {
  const char* build;
  const char* description;
};

// The functions that are used; status 0 is success.
struct Functions {
  int (*get_openvino_version)(OvVersion*);
  const char* (*get_error_info)(int);
  const char* (*get_last_err_msg)();
  int (*core_create)(void**);
  void (*core_free)(void*);
  int (*core_compile_model_from_file)(const void*, const char*, const char*, size_t, void**, ...);
  void (*compiled_model_free)(void*);
  int (*compiled_model_outputs_size)(const void*, size_t*);
  int (*compiled_model_create_infer_request)(const void*, void**);
  void (*infer_request_free)(void*);
  int (*infer_request_get_tensor)(const void*, const char*, void**);
  int (*infer_request_get_output_tensor_by_index)(const void*, size_t, void**);
  int (*infer_request_infer)(void*);
  int (*tensor_set_shape)(void*, OvShape);
  int (*tensor_get_byte_size)(const void*, size_t*);
  int (*tensor_data)(const void*, void**);
  void (*tensor_free)(void*);
};

class OpenVino final : public Peer {
 public:
  OpenVino(const std::string& library, bool bf16) : bf16_(bf16) {
    void* handle = open_library(library, false);
    const auto find = [&](auto& function, const char* name) {
      using F = std::remove_reference_t<decltype(function)>;
      function = reinterpret_cast<F>(symbol_of(handle, name, library));
    };
    find(f_.get_openvino_version, "ov_get_openvino_version");
    find(f_.get_error_info, "ov_get_error_info");
    find(f_.get_last_err_msg, "ov_get_last_err_msg");
    find(f_.core_create, "ov_core_create");
    find(f_.core_free, "ov_core_free");
    find(f_.core_compile_model_from_file, "ov_core_compile_model_from_file");
    find(f_.compiled_model_free, "ov_compiled_model_free");
    find(f_.compiled_model_outputs_size, "ov_compiled_model_outputs_size");
    find(f_.compiled_model_create_infer_request, "ov_compiled_model_create_infer_request");
    find(f_.infer_request_free, "ov_infer_request_free");
    find(f_.infer_request_get_tensor, "ov_infer_request_get_tensor");
    find(f_.infer_request_get_output_tensor_by_index, "ov_infer_request_get_output_tensor_by_index");
    find(f_.infer_request_infer, "ov_infer_request_infer");
    find(f_.tensor_set_shape, "ov_tensor_set_shape");
    find(f_.tensor_get_byte_size, "ov_tensor_get_byte_size");
    find(f_.tensor_data, "ov_tensor_data");
    find(f_.tensor_free, "ov_tensor_free");
    OvVersion version{};
    if (f_.get_openvino_version(&version) == 0 && version.build) version_ = version.build;
    version_ = version_.substr(0, version_.find('-'));
  }

  ~OpenVino() override {
    if (request_) f_.infer_request_free(request_);
    if (model_) f_.compiled_model_free(model_);
    if (core_) f_.core_free(core_);
  }

  std::string version() const override { return version_ + (bf16_ ? " bf16" : " f32"); }

  void load(const std::string& model, int threads, const std::vector<Feed>& feeds) override {
    const std::string count = std::to_string(threads);
    check(f_.core_create(&core_));
    check(f_.core_compile_model_from_file(core_, model.c_str(), "CPU", 8, &model_, "INFERENCE_NUM_THREADS",
                                          count.c_str(), "PERFORMANCE_HINT", "LATENCY", "NUM_STREAMS", "1",
                                          "INFERENCE_PRECISION_HINT", bf16_ ? "bf16" : "f32"));
    check(f_.compiled_model_create_infer_request(model_, &request_));
    for (const Feed& feed : feeds) set(feed);
  }

  void run() override { check(f_.infer_request_infer(request_)); }

  std::vector<std::vector<std::byte>> outputs() override {
    size_t count = 0;
    check(f_.compiled_model_outputs_size(model_, &count));
    std::vector<std::vector<std::byte>> all(count);
    for (size_t i = 0; i < count; ++i) {
      void* tensor = nullptr;
      check(f_.infer_request_get_output_tensor_by_index(request_, i, &tensor));
      const std::unique_ptr<void, void (*)(void*)> owner(tensor, f_.tensor_free);
      size_t bytes = 0;
      void* data = nullptr;
      check(f_.tensor_get_byte_size(tensor, &bytes));
      if (bytes == 0) continue;
      check(f_.tensor_data(tensor, &data));
      const auto* from = static_cast<const std::byte*>(data);
      all[i].assign(from, from + bytes);
    }
    return all;
  }

 private:
  void check(int status) const {
    if (status == 0) return;
    const char* more = f_.get_last_err_msg();
    const char* text = more && *more ? more : f_.get_error_info(status);
    unusable("OpenVINO {}: {}", version_, text ? text : "unknown error");
  }

  void set(const Feed& feed) {
    if (feed.arrays.size() != 1 || !feed.arrays[0].text.empty())
      unusable("input '{}' is a {}: only tensors of numbers are compared", feed.name, feed.type);
    const Array& array = feed.arrays[0];
    void* tensor = nullptr;
    check(f_.infer_request_get_tensor(request_, feed.name.c_str(), &tensor));
    const std::unique_ptr<void, void (*)(void*)> owner(tensor, f_.tensor_free);
    Shape dims = array.shape;
    check(f_.tensor_set_shape(tensor, {static_cast<int64_t>(dims.size()), dims.data()}));
    const size_t bytes = storage_bytes(array.type, array.count);
    size_t wanted = 0;
    void* data = nullptr;
    check(f_.tensor_get_byte_size(tensor, &wanted));
    if (wanted != bytes)
      unusable("OpenVINO takes {} bytes for input '{}', the model says {}", wanted, feed.name, bytes);
    if (bytes == 0) return;
    check(f_.tensor_data(tensor, &data));
    std::memcpy(data, array.data.get(), bytes);
  }

  bool bf16_;
  Functions f_{};
  std::string version_;
  void *core_ = nullptr, *model_ = nullptr, *request_ = nullptr;
};

}  // namespace

std::unique_ptr<Peer> open_openvino(const std::string& library, bool bf16) {
  return std::make_unique<OpenVino>(library, bf16);
}

}  // namespace trunnion::cli
