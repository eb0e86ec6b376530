// What the tests of the ABI share: the table, and statuses as something to assert on.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "coverage.h"
#include "trunnion/ort_abi.h"

inline const OrtApi* api() { return coverage::counted(); }

inline OrtErrorCode code(OrtStatus* status) {
  const OrtErrorCode c = status ? api()->GetErrorCode(status) : ORT_OK;
  api()->ReleaseStatus(status);
  return c;
}

inline std::string message(OrtStatus* status) {
  const std::string text = status ? api()->GetErrorMessage(status) : "";
  api()->ReleaseStatus(status);
  return text;
}

#define OK(x) ASSERT_EQ(message(x), "")
#define CODE(x, c) EXPECT_EQ(code(x), c)
