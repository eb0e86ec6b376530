// The objects behind the opaque handles of the C ABI that the client side needs.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "abi/handle_checks.h"
#include "base/status.h"
#include "session/options.h"
#include "tensor/type.h"
#include "tensor/value.h"
#include "trunnion/ort_abi.h"

struct OrtStatus {
  trunnion::Status status;

  TRN_HANDLE(OrtStatus);
};

struct OrtMemoryInfo {
  std::string name;
  OrtAllocatorType allocator_type = OrtDeviceAllocator;
  int32_t device_id = 0;
  OrtMemType mem_type = OrtMemTypeDefault;
  OrtMemoryInfoDeviceType device_type = OrtMemoryInfoDeviceType_CPU;
  OrtDeviceMemoryType device_mem_type = OrtDeviceMemoryType_DEFAULT;
  uint32_t vendor_id = 0;
  size_t alignment = 0;

  bool host_accessible() const {
    return device_type == OrtMemoryInfoDeviceType_CPU || device_mem_type == OrtDeviceMemoryType_HOST_ACCESSIBLE;
  }
  friend bool operator==(const OrtMemoryInfo&, const OrtMemoryInfo&) = default;

  TRN_HANDLE(OrtMemoryInfo);
};

// Entries in key order; keys and values mirror them for GetKeyValuePairs.
struct OrtKeyValuePairs {
  std::map<std::string, std::string, std::less<>> entries;
  std::vector<const char*> keys, values;

  void set(std::string key, std::string value);
  void refresh();

  TRN_HANDLE(OrtKeyValuePairs);
};

struct OrtValue {
  trunnion::Value value;
  std::shared_ptr<const OrtMemoryInfo> memory;  // null: plain CPU memory
  bool sparse_open = false;                     // a sparse tensor whose indices are still to come

  TRN_HANDLE(OrtValue);
};

struct OrtTensorTypeAndShapeInfo {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  bool has_shape = false;
  std::vector<int64_t> dims;         // -1: not known
  std::vector<std::string> symbols;  // "" where there is no name; as long as dims

  TRN_HANDLE(OrtTensorTypeAndShapeInfo);
};

struct OrtTypeInfo;

struct OrtMapTypeInfo {
  ONNXTensorElementDataType key_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::shared_ptr<const OrtTypeInfo> value;

  TRN_HANDLE(OrtMapTypeInfo);
};
struct OrtSequenceTypeInfo {
  std::shared_ptr<const OrtTypeInfo> element;

  TRN_HANDLE(OrtSequenceTypeInfo);
};
struct OrtOptionalTypeInfo {
  std::shared_ptr<const OrtTypeInfo> contained;

  TRN_HANDLE(OrtOptionalTypeInfo);
};

// One of the four parts is set, by `type`.
struct OrtTypeInfo {
  ONNXType type = ONNX_TYPE_UNKNOWN;
  std::string denotation;
  std::shared_ptr<const OrtTensorTypeAndShapeInfo> tensor;
  std::shared_ptr<const OrtMapTypeInfo> map;
  std::shared_ptr<const OrtSequenceTypeInfo> sequence;
  std::shared_ptr<const OrtOptionalTypeInfo> optional;

  TRN_HANDLE(OrtTypeInfo);
};

// Which configuration entries a plugin looked at.
struct OrtAskedEntries {
  std::mutex mutex;
  std::set<std::string, std::less<>> keys;
  bool all = false;  // it took a list of all there are
};

struct OrtSessionOptions {
  trunnion::session::Options options;
  std::shared_ptr<OrtAskedEntries> asked = nullptr;  // of those that a plugin is given

  TRN_HANDLE(OrtSessionOptions);
};

struct OrtRunOptions {
  trunnion::session::RunOptions options;

  TRN_HANDLE(OrtRunOptions);
};

struct OrtThreadingOptions {
  trunnion::session::ThreadingOptions options;

  TRN_HANDLE(OrtThreadingOptions);
};

// Wishes about an arena, -1: the default.
struct OrtArenaCfg {
  std::map<std::string, int64_t, std::less<>> entries;

  TRN_HANDLE(OrtArenaCfg);
};

// Packed operands are shared by all sessions of the process, whatever the container; the handle is a token.
struct OrtPrepackedWeightsContainer {
  TRN_HANDLE(OrtPrepackedWeightsContainer);
};

// The operators are owned by the user and must outlive the sessions.
struct OrtCustomOpDomain {
  std::string domain;
  std::vector<const OrtCustomOp*> ops;

  TRN_HANDLE(OrtCustomOpDomain);
};

struct OrtExternalInitializerInfo {
  std::basic_string<ORTCHAR_T> path;
  int64_t offset = 0;
  size_t size = 0;

  TRN_HANDLE(OrtExternalInitializerInfo);
};

namespace trunnion::abi {

// The codes are those of ONNX but for three of the newest types.
ONNXTensorElementDataType ort_type(DType type);
DType dtype_of(ONNXTensorElementDataType type);  // undefined for a code that does not exist

const std::shared_ptr<const OrtMemoryInfo>& cpu_memory();
inline const OrtMemoryInfo& memory_of(const OrtValue& v) { return v.memory ? *v.memory : *cpu_memory(); }
// A tensor whose elements the CPU cannot read.
inline bool on_device(const OrtValue& v) { return v.value.is_tensor() && v.memory && !v.memory->host_accessible(); }

// The process's allocator for CPU memory; alive until the process ends.
OrtAllocator* default_allocator();

// A zero-terminated copy out of the user's allocator.
Status copy_string(OrtAllocator* allocator, std::string_view text, char** out);

std::shared_ptr<const OrtTensorTypeAndShapeInfo> make_tensor_info(DType type, const std::optional<SymShape>& shape);
std::unique_ptr<OrtTypeInfo> make_type_info(const Type& type);
// The inverse of make_type_info.
Type type_of(const OrtTypeInfo& info);

// The tensor of a value, or INVALID_ARGUMENT / FAIL when it is none or not in memory that the CPU can read.
Result<const Tensor*> host_tensor(const OrtValue& value);
// A tensor of the same type and shape in the allocator's memory, without the elements yet.
Result<std::unique_ptr<OrtValue>> tensor_like(const Tensor& tensor, OrtAllocator* allocator);
// Of the same type and shape, both in memory that the CPU can read.
void copy_at_host(const Tensor& from, const Tensor& to);

// Text into a buffer of *size bytes, in the two-call manner: buffer NULL asks for the size; *size always becomes the
// needed one.
Status copy_to_buffer(std::string_view text, char* buffer, size_t* size, std::string_view what);

}  // namespace trunnion::abi
