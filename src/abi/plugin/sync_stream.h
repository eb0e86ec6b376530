// Streams of a plugin's device: work that is put in order there while the host goes on.
#pragma once
#include <atomic>
#include <memory>

#include "abi/env.h"

struct OrtSyncStream {
  OrtSyncStreamImpl* impl = nullptr;
  const OrtEpFactory* factory = nullptr;
  std::atomic<uint64_t> sync_id{0};  // how often the host has waited for all of it

  TRN_HANDLE(OrtSyncStream);
};

namespace trunnion::abi {

// What the device calls the stream; null for none.
void* stream_handle(const OrtSyncStream* stream);
void release_stream(OrtSyncStream* stream);
// Until the device has done all that was put into it.
Status wait_for(OrtSyncStream& stream);

// The stream that the client wants the run on this thread to use, for the devices of its factory.
class StreamOfRun {
 public:
  explicit StreamOfRun(OrtSyncStream* stream);
  ~StreamOfRun();
  StreamOfRun(const StreamOfRun&) = delete;
  StreamOfRun& operator=(const StreamOfRun&) = delete;
  static OrtSyncStream* of(const OrtEpFactory& factory);  // null: none

 private:
  OrtSyncStream* outer_;  // of the run around it, which a custom operator may be in
};

// Of the provider, or else of its factory. Null: it has no streams for such memory.
Result<OrtSyncStream*> make_stream(OrtEpFactory& factory, OrtEp* ep, const OrtMemoryInfo& memory,
                                   const OrtKeyValuePairs* options);

}  // namespace trunnion::abi
