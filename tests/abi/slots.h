// Every slot of the tables, for tests that are about all of them. The list is made by cmake/abi_tests.cmake.
#pragma once
#include <type_traits>

#include "trunnion/ort_abi.h"

namespace slots {

template <class T>
struct TableOf;
template <class Table, class Function>
struct TableOf<Function Table::*> {
  using type = Table;
};

// Calls visit.operator()<&Table::name>("Table", "name") for each slot; wired ones, or those that nobody wrote.
template <class F>
void for_each_wired(F&& visit) {
#define TRN_SLOT(table, name) visit.template operator()<&table::name>(#table, #name);
#define TRN_STUB(table, name)
#include "abi_slots.inc"
#undef TRN_SLOT
#undef TRN_STUB
}

template <class F>
void for_each_stub(F&& visit) {
#define TRN_SLOT(table, name)
#define TRN_STUB(table, name) visit.template operator()<&table::name>(#table, #name);
#include "abi_slots.inc"
#undef TRN_SLOT
#undef TRN_STUB
}

// The table itself, as the library gives it.
template <class Table>
const Table* real() {
  const OrtApi* const api = OrtGetApiBase()->GetApi(ORT_API_VERSION);
  if constexpr (std::is_same_v<Table, OrtApiBase>) return OrtGetApiBase();
  if constexpr (std::is_same_v<Table, OrtApi>) return api;
  if constexpr (std::is_same_v<Table, OrtModelEditorApi>) return api->GetModelEditorApi();
  if constexpr (std::is_same_v<Table, OrtCompileApi>) return api->GetCompileApi();
  if constexpr (std::is_same_v<Table, OrtInteropApi>) return api->GetInteropApi();
  if constexpr (std::is_same_v<Table, OrtEpApi>) return api->GetEpApi();
  if constexpr (std::is_same_v<Table, OrtModelPackageApi>) return api->GetModelPackageApi();
}

}  // namespace slots
