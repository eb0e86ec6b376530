// In builds with TRN_CHECK_HANDLES every opaque handle that a client gives to a function is looked up among those that
// live: one of another kind, or one that was released, gives INVALID_ARGUMENT, or a line on stderr where no status can
// be given. Elsewhere all of this is nothing. A struct behind a handle takes part by ending with
//
//   TRN_HANDLE(OrtValue);
#pragma once
#include <cstddef>
#include <type_traits>

#include "base/status.h"
#include "trunnion/ort_abi.h"

#ifndef TRN_CHECK_HANDLES
#define TRN_CHECK_HANDLES 0
#endif

namespace trunnion::abi {

// The name of a kind that takes part; null for all other types.
template <class T>
inline constexpr const char* kHandleKind = nullptr;
#define TRN_KIND(type) \
  template <>          \
  inline constexpr const char* kHandleKind<type> = #type;
TRN_KIND(OrtArenaCfg)
TRN_KIND(OrtCustomOpDomain)
TRN_KIND(OrtDeviceEpIncompatibilityDetails)
TRN_KIND(OrtEnv)
TRN_KIND(OrtEpAssignedNode)
TRN_KIND(OrtEpAssignedSubgraph)
TRN_KIND(OrtEpContextConfig)
TRN_KIND(OrtEpDevice)
TRN_KIND(OrtEpGraphSupportInfo)
TRN_KIND(OrtExternalInitializerInfo)
TRN_KIND(OrtGraph)
TRN_KIND(OrtHardwareDevice)
TRN_KIND(OrtIoBinding)
TRN_KIND(OrtKernelContext)
TRN_KIND(OrtKernelDef)
TRN_KIND(OrtKernelDefBuilder)
TRN_KIND(OrtKernelInfo)
TRN_KIND(OrtKernelRegistry)
TRN_KIND(OrtKeyValuePairs)
TRN_KIND(OrtLogger)
TRN_KIND(OrtLoraAdapter)
TRN_KIND(OrtMapTypeInfo)
TRN_KIND(OrtMemoryInfo)
TRN_KIND(OrtModel)
TRN_KIND(OrtModelCompilationOptions)
TRN_KIND(OrtModelMetadata)
TRN_KIND(OrtNode)
TRN_KIND(OrtNodeComputeContext)
TRN_KIND(OrtOp)
TRN_KIND(OrtOpAttr)
TRN_KIND(OrtOpSchema)
TRN_KIND(OrtOpSchemaTypeConstraint)
TRN_KIND(OrtOptionalTypeInfo)
TRN_KIND(OrtPrepackedWeightsContainer)
TRN_KIND(OrtRunOptions)
TRN_KIND(OrtSequenceTypeInfo)
TRN_KIND(OrtSession)
TRN_KIND(OrtSessionOptions)
TRN_KIND(OrtShapeInferContext)
TRN_KIND(OrtStatus)
TRN_KIND(OrtSyncStream)
TRN_KIND(OrtTensorTypeAndShapeInfo)
TRN_KIND(OrtThreadingOptions)
TRN_KIND(OrtTypeInfo)
TRN_KIND(OrtValue)
TRN_KIND(OrtValueInfo)
#undef TRN_KIND

// OK when the object lives, else what is wrong with the pointer.
Status check_live(const void* handle, const char* kind);
void note_live(const void* handle, const char* kind);
void note_gone(const void* handle, const char* kind);
void complain(const char* function, const Status& status);  // on stderr

// Lives in the object and as long; follows it when it is copied.
class LiveMark {
 public:
  LiveMark(const void* owner, const char* kind)
      : offset_(reinterpret_cast<const char*>(this) - static_cast<const char*>(owner)), kind_(kind) {
    note_live(owner, kind);
  }
  LiveMark(const LiveMark& other) : offset_(other.offset_), kind_(other.kind_) { note_live(owner(), kind_); }
  LiveMark& operator=(const LiveMark&) { return *this; }
  ~LiveMark() { note_gone(owner(), kind_); }
  friend bool operator==(const LiveMark&, const LiveMark&) { return true; }

 private:
  const void* owner() const { return reinterpret_cast<const char*>(this) - offset_; }
  ptrdiff_t offset_;
  const char* kind_;
};

// One argument of a function: handles of kinds that take part are looked up, NULL is the function's business.
template <class A>
Status check_argument(A argument) {
  using Pointee = std::remove_cv_t<std::remove_pointer_t<A>>;
  if constexpr (std::is_pointer_v<A> && std::is_class_v<Pointee>)
    if constexpr (kHandleKind<Pointee> != nullptr)
      if (argument) return check_live(argument, kHandleKind<Pointee>);
  return {};
}

template <class... A>
Status check_arguments(A... arguments) {
  Status status;
  (void)((status = check_argument(arguments), status.ok()) && ...);
  return status;
}

// Arrays of handles are checked by the function, which knows how long they are. Entries may be NULL.
template <class T>
Status check_handles([[maybe_unused]] T* const* handles, [[maybe_unused]] size_t count) {
#if TRN_CHECK_HANDLES
  for (size_t i = 0; handles && i < count; ++i)
    if (Status s = check_argument(handles[i]); !s.ok()) return s;
#endif
  return {};
}

}  // namespace trunnion::abi

#if TRN_CHECK_HANDLES
#define TRN_HANDLE(type) \
  ::trunnion::abi::LiveMark live_mark { this, ::trunnion::abi::kHandleKind<type> }
#else
#define TRN_HANDLE(type) static_assert(::trunnion::abi::kHandleKind<type> != nullptr)
#endif
