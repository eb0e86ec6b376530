/* The profiler of the tests' plugin: counts what it is told of, and gives one event about it at the end. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

#include "plugin_shared.h"

typedef struct {
  OrtEpProfilerImpl base;
  uint64_t last_id;
  int started, stopped;
  char last_name[96], last_provider[64];
} Profiler;

static void ORT_API_CALL release_profiler(OrtEpProfilerImpl* self) { free(self); }

static OrtStatus* ORT_API_CALL start_profiling(OrtEpProfilerImpl* self, int64_t offset_ns) {
  (void)self;
  return offset_ns < 0 ? fail("the profile begins in the future") : NULL;
}

static OrtStatus* ORT_API_CALL start_event(OrtEpProfilerImpl* self, uint64_t id) {
  Profiler* p = (Profiler*)self;
  p->last_id = id;
  ++p->started;
  return NULL;
}

static OrtStatus* ORT_API_CALL stop_event(OrtEpProfilerImpl* self, uint64_t id, const OrtProfilingEvent* event) {
  Profiler* p = (Profiler*)self;
  OrtProfilingEventCategory category;
  const char *name = NULL, *provider = NULL, *none = NULL;
  int64_t at = -1, duration = -1;
  TRY(ep_api->ProfilingEvent_GetCategory(event, &category));
  TRY(ep_api->ProfilingEvent_GetName(event, &name));
  TRY(ep_api->ProfilingEvent_GetTimestampUs(event, &at));
  TRY(ep_api->ProfilingEvent_GetDurationUs(event, &duration));
  TRY(ep_api->ProfilingEvent_GetArgValue(event, "provider", &provider));
  TRY(ep_api->ProfilingEvent_GetArgValue(event, "nonsense", &none));
  if (id != p->last_id || category != OrtProfilingEventCategory_NODE || at < 0 || duration < 0 || !provider || none)
    return NULL;
  ++p->stopped;
  snprintf(p->last_name, sizeof p->last_name, "%s", name);
  snprintf(p->last_provider, sizeof p->last_provider, "%s", provider);
  return NULL;
}

static OrtStatus* ORT_API_CALL end_profiling(OrtEpProfilerImpl* self, OrtProfilingEventsContainer* container) {
  Profiler* p = (Profiler*)self;
  OrtProfilingEvent* event = NULL;
  char started[16], stopped[16];
  snprintf(started, sizeof started, "%d", p->started);
  snprintf(stopped, sizeof stopped, "%d", p->stopped);
  const char* keys[] = {"started", "stopped", "provider"};
  const char* values[] = {started, stopped, p->last_provider};
  TRY(ep_api->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, -1, 7, "multiplied \"and\" added", 11, 22, keys,
                                   values, 3, &event));
  const OrtProfilingEvent* events[] = {event};
  OrtStatus* status = ep_api->ProfilingEventsContainer_AddEvents(container, events, 1);
  ep_api->ReleaseProfilingEvent(event);
  ep_api->ReleaseProfilingEvent(NULL);
  return status;
}

static OrtEpProfilerImpl* new_profiler(void) {
  Profiler* p = calloc(1, sizeof *p);
  p->base.ort_version_supported = ORT_API_VERSION;
  p->base.Release = release_profiler;
  p->base.StartProfiling = start_profiling;
  p->base.StartEvent = start_event;
  p->base.StopEvent = stop_event;
  p->base.EndProfiling = end_profiling;
  return &p->base;
}
