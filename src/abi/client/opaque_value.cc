// Values of opaque types. Such types exist only where an operator library defines one, and none does.
#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {

ORT_FN(CreateOpaqueValue,
       (const char* domain_name, const char* type_name, const void* data_container, size_t, OrtValue** out)) {
  TRN_REQUIRE(domain_name, type_name, data_container, out);
  return error(Code::fail, "opaque type '{}' of domain '{}' is not registered", type_name, domain_name);
}

ORT_FN(GetOpaqueValue,
       (const char* domain_name, const char* type_name, const OrtValue* in, void* data_container, size_t)) {
  TRN_REQUIRE(domain_name, type_name, in, data_container);
  return error(Code::fail, "the value is not of the opaque type '{}' of domain '{}'", type_name, domain_name);
}

}  // namespace trunnion::abi
