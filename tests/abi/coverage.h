// The table that the tests call: each slot counts its calls and hands on to the library's.
#pragma once
#include "trunnion/ort_abi.h"

namespace coverage {

const OrtApi* counted();

}  // namespace coverage
