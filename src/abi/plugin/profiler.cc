#include "abi/plugin/profiler.h"

#include "abi/custom_operators.h"
#include "abi/plugin/library.h"
#include "abi/slots.h"
#include "base/os.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kProfilers = 25;  // the version of OrtEp that brought CreateProfiler
constexpr std::string_view kCategories[] = {"Session", "Node", "Kernel", "Api"};

}  // namespace

Result<std::unique_ptr<PluginProfiler>> PluginProfiler::make(OrtEp& ep) {
  std::unique_ptr<PluginProfiler> none;
  if (ep.ort_version_supported < kProfilers || !ep.CreateProfiler) return none;
  OrtEpProfilerImpl* impl = nullptr;
  TRN_TRY(guarded([&] { return from_ort(ep.CreateProfiler(&ep, &impl)); }).with_context("CreateProfiler"));
  if (!impl) return none;
  TRN_TRY(check_version(impl->ort_version_supported, "the profiler"));
  if (!impl->Release || !impl->StartProfiling || !impl->EndProfiling) {
    if (impl->Release) impl->Release(impl);
    return invalid_argument("the profiler lacks a function that all have");
  }
  return std::unique_ptr<PluginProfiler>(new PluginProfiler(impl));
}

PluginProfiler::~PluginProfiler() { impl_->Release(impl_); }

Status PluginProfiler::start(int64_t elapsed_ns) {
  start_ns_ = os::monotonic_ns() - elapsed_ns;
  TRN_TRY(guarded([&] { return from_ort(impl_->StartProfiling(impl_, elapsed_ns)); }).with_context("StartProfiling"));
  on_ = true;
  return {};
}

uint64_t PluginProfiler::begin() {
  const std::shared_lock lock(mutex_);
  if (!on_ || !impl_->StartEvent) return 0;
  const uint64_t id = next_++;
  static_cast<void>(guarded([&] { return from_ort(impl_->StartEvent(impl_, id)); }));
  return id;
}

void PluginProfiler::end(uint64_t id, const std::string& name, const std::string& provider, int64_t begin_ns,
                         int64_t end_ns) {
  const std::shared_lock lock(mutex_);
  if (!id || !on_ || !impl_->StopEvent) return;
  OrtProfilingEvent e;
  e.event = {"Node",
             name + "_kernel_time",
             static_cast<int64_t>(os::process_id()),
             static_cast<int64_t>(os::thread_id()),
             (begin_ns - start_ns_) / 1000,
             (end_ns - begin_ns) / 1000,
             {{"op_name", name}, {"provider", provider}}};
  static_cast<void>(guarded([&] { return from_ort(impl_->StopEvent(impl_, id, &e)); }));
}

Result<std::vector<ep::TraceEvent>> PluginProfiler::finish() {
  const std::unique_lock lock(mutex_);
  OrtProfilingEventsContainer events;
  if (!on_.exchange(false)) return std::move(events.events);
  TRN_TRY(guarded([&] { return from_ort(impl_->EndProfiling(impl_, &events)); }).with_context("EndProfiling"));
  return std::move(events.events);
}

// A negative process or thread means this one.
TABLE_FN(OrtEpApi, CreateProfilingEvent,
         (OrtProfilingEventCategory category, int32_t process_id, int32_t thread_id, const char* event_name,
          int64_t timestamp_us, int64_t duration_us, const char* const* arg_keys, const char* const* arg_values,
          size_t num_args, OrtProfilingEvent** out)) {
  TRN_REQUIRE(event_name, out);
  const auto kind = static_cast<size_t>(category);
  if (kind >= std::size(kCategories)) return invalid_argument("there is no category {} of events", kind);
  auto made = std::make_unique<OrtProfilingEvent>();
  made->event.category = kCategories[kind];
  made->event.name = event_name;
  made->event.process = process_id < 0 ? static_cast<int64_t>(os::process_id()) : process_id;
  made->event.thread = thread_id < 0 ? static_cast<int64_t>(os::thread_id()) : thread_id;
  made->event.begin_us = timestamp_us;
  made->event.duration_us = duration_us;
  if (num_args) TRN_REQUIRE(arg_keys, arg_values);
  for (size_t i = 0; i < num_args; ++i) {
    TRN_REQUIRE(arg_keys[i], arg_values[i]);
    made->event.args.emplace_back(arg_keys[i], arg_values[i]);
  }
  *out = made.release();
  return {};
}

TABLE_FN_AS(void, OrtEpApi, ReleaseProfilingEvent, (OrtProfilingEvent * input)) { delete input; }

TABLE_FN(OrtEpApi, ProfilingEvent_GetCategory, (const OrtProfilingEvent* event, OrtProfilingEventCategory* out)) {
  TRN_REQUIRE(event, out);
  for (size_t i = 0; i < std::size(kCategories); ++i)
    if (event->event.category == kCategories[i]) *out = static_cast<OrtProfilingEventCategory>(i);
  return {};
}

TABLE_FN(OrtEpApi, ProfilingEvent_GetName, (const OrtProfilingEvent* event, const char** out)) {
  TRN_REQUIRE(event, out);
  *out = event->event.name.c_str();
  return {};
}

TABLE_FN(OrtEpApi, ProfilingEvent_GetTimestampUs, (const OrtProfilingEvent* event, int64_t* out)) {
  TRN_REQUIRE(event, out);
  *out = event->event.begin_us;
  return {};
}

TABLE_FN(OrtEpApi, ProfilingEvent_GetDurationUs, (const OrtProfilingEvent* event, int64_t* out)) {
  TRN_REQUIRE(event, out);
  *out = event->event.duration_us;
  return {};
}

TABLE_FN(OrtEpApi, ProfilingEvent_GetArgValue, (const OrtProfilingEvent* event, const char* key, const char** out)) {
  TRN_REQUIRE(event, key, out);
  *out = nullptr;
  for (const auto& [name, value] : event->event.args)
    if (name == key) *out = value.c_str();
  return {};
}

TABLE_FN(OrtEpApi, ProfilingEventsContainer_AddEvents,
         (OrtProfilingEventsContainer * events_container, const OrtProfilingEvent* const* events, size_t num_events)) {
  TRN_REQUIRE(events_container);
  if (num_events) TRN_REQUIRE(events);
  for (size_t i = 0; i < num_events; ++i) {
    TRN_REQUIRE(events[i]);
    events_container->events.push_back(events[i]->event);
  }
  return {};
}

}  // namespace trunnion::abi
