#include "abi/plugin/sync_stream.h"

#include "abi/custom_operators.h"
#include "abi/plugin/device_memory.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kStreams = 23;  // the version that brought them

thread_local OrtSyncStream* t_of_run = nullptr;

}  // namespace

void* stream_handle(const OrtSyncStream* stream) {
  return stream && stream->impl->GetHandle ? stream->impl->GetHandle(stream->impl) : nullptr;
}

void release_stream(OrtSyncStream* stream) {
  if (stream && stream->impl->Release) stream->impl->Release(stream->impl);
  delete stream;
}

Status wait_for(OrtSyncStream& stream) {
  OrtSyncStreamImpl* impl = stream.impl;
  if (impl->Flush) TRN_TRY(guarded([&] { return from_ort(impl->Flush(impl)); }));
  if (!impl->CreateNotification) return {};
  OrtSyncNotificationImpl* notice = nullptr;
  TRN_TRY(guarded([&] { return from_ort(impl->CreateNotification(impl, &notice)); }));
  if (!notice) return {};
  const Status status = guarded([&]() -> Status {
    if (notice->Activate) TRN_TRY(from_ort(notice->Activate(notice)));
    return notice->WaitOnHost ? from_ort(notice->WaitOnHost(notice)) : Status();
  });
  if (notice->Release) notice->Release(notice);
  if (status.ok()) ++stream.sync_id;
  return status;
}

StreamOfRun::StreamOfRun(OrtSyncStream* stream) : outer_(std::exchange(t_of_run, stream)) {}
StreamOfRun::~StreamOfRun() { t_of_run = outer_; }
OrtSyncStream* StreamOfRun::of(const OrtEpFactory& factory) {
  return t_of_run && t_of_run->factory == &factory ? t_of_run : nullptr;
}

Result<OrtSyncStream*> make_stream(OrtEpFactory& factory, OrtEp* ep, const OrtMemoryInfo& memory,
                                   const OrtKeyValuePairs* options) {
  OrtSyncStream* none = nullptr;
  if (factory.ort_version_supported < kStreams || !factory.IsStreamAware || !factory.IsStreamAware(&factory))
    return none;
  OrtSyncStreamImpl* impl = nullptr;
  TRN_TRY(guarded([&]() -> Status {
            if (ep && ep->ort_version_supported >= kStreams && ep->CreateSyncStreamForDevice)
              return from_ort(ep->CreateSyncStreamForDevice(ep, device_of(memory), &impl));
            if (factory.CreateSyncStreamForDevice)
              return from_ort(factory.CreateSyncStreamForDevice(&factory, device_of(memory), options, &impl));
            return {};
          }).with_context("CreateSyncStreamForDevice"));
  if (!impl) return none;
  TRN_TRY(check_version(impl->ort_version_supported, "the stream"));
  auto stream = std::make_unique<OrtSyncStream>();
  stream->impl = impl;
  stream->factory = &factory;
  return stream.release();
}

ORT_FN(CreateSyncStreamForEpDevice,
       (const OrtEpDevice* ep_device, const OrtKeyValuePairs* stream_options, OrtSyncStream** stream)) {
  TRN_REQUIRE(ep_device, stream);
  *stream = nullptr;
  if (ep_device->factory) {
    const OrtMemoryInfo& memory = ep_device->device_memory ? *ep_device->device_memory : *cpu_memory();
    TRN_ASSIGN(*stream, make_stream(*ep_device->factory, nullptr, memory, stream_options));
  }
  return *stream ? Status() : invalid_argument("the devices of {} have no streams", ep_device->ep_name);
}
ORT_FN_AS(void*, SyncStream_GetHandle, (OrtSyncStream * stream)) { return stream_handle(stream); }
ORT_FN_AS(void, ReleaseSyncStream, (OrtSyncStream * stream)) { release_stream(stream); }

TABLE_FN_AS(const OrtSyncStreamImpl*, OrtEpApi, SyncStream_GetImpl, (const OrtSyncStream* stream)) {
  return stream ? stream->impl : nullptr;
}
TABLE_FN_AS(uint64_t, OrtEpApi, SyncStream_GetSyncId, (const OrtSyncStream* stream)) {
  return stream ? stream->sync_id.load() : 0;
}
// One stream never waits for another here: the host waits for each.
TABLE_FN_AS(uint64_t, OrtEpApi, GetSyncIdForLastWaitOnSyncStream,
            (const OrtSyncStream* producer_stream, const OrtSyncStream* consumer_stream)) {
  return producer_stream && consumer_stream ? producer_stream->sync_id.load() : 0;
}

}  // namespace trunnion::abi
