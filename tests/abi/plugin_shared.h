/* What the plugins of the tests share. */
#pragma once
#include <string.h>

#include "trunnion/ort_abi.h"

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define TRY(x)                                   \
  do {                                           \
    OrtStatus* try_status_ = (x);                \
    if (try_status_ != NULL) return try_status_; \
  } while (0)

static const OrtApi* api;
static const OrtEpApi* ep_api;

static OrtStatus* fail(const char* text) { return api->CreateStatus(ORT_EP_FAIL, text); }
static int is(const char* a, const char* b) { return strcmp(a, b) == 0; }

static const char* ORT_API_CALL factory_vendor(const OrtEpFactory* self) {
  (void)self;
  return "the tests";
}
