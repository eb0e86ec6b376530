// Custom-op domains and the libraries that register them.
#include "abi/handles.h"
#include "abi/slots.h"
#include "base/os.h"

namespace trunnion::abi {
namespace {

Status call_registration(void* symbol, OrtSessionOptions* options) {
  const auto fn = reinterpret_cast<RegisterCustomOpsFn>(symbol);
  OrtStatus* failed = fn(options, OrtGetApiBase());
  if (!failed) return {};
  Status status = failed->status;
  delete failed;
  return status;
}

// Sessions made from the options keep the library loaded, whatever its user does.
Status register_library(OrtSessionOptions* options, const std::string& path) {
  TRN_ASSIGN(auto library, os::Library::open(path));
  TRN_ASSIGN(void* symbol, library.symbol("RegisterCustomOps"));
  auto held = std::make_shared<os::Library>(std::move(library));
  options->options.custom_op_libraries.push_back(held);
  return call_registration(symbol, options);
}

}  // namespace

ORT_FN(CreateCustomOpDomain, (const char* domain, OrtCustomOpDomain** out)) {
  TRN_REQUIRE(domain, out);
  *out = new OrtCustomOpDomain{domain, {}};
  return {};
}

ORT_FN_AS(void, ReleaseCustomOpDomain, (OrtCustomOpDomain * domain)) { delete domain; }

ORT_FN(CustomOpDomain_Add, (OrtCustomOpDomain * custom_op_domain, const OrtCustomOp* op)) {
  TRN_REQUIRE(custom_op_domain, op);
  custom_op_domain->ops.push_back(op);
  return {};
}

ORT_FN(AddCustomOpDomain, (OrtSessionOptions * options, OrtCustomOpDomain* custom_op_domain)) {
  TRN_REQUIRE(options, custom_op_domain);
  options->options.custom_op_domains.push_back(custom_op_domain);
  return {};
}

ORT_FN(RegisterCustomOpsLibrary_V2, (OrtSessionOptions * options, const ORTCHAR_T* library_name)) {
  TRN_REQUIRE(options, library_name);
  return register_library(options, library_name);
}

ORT_FN(RegisterCustomOpsLibrary, (OrtSessionOptions * options, const char* library_path, void** library_handle)) {
  TRN_REQUIRE(options, library_path, library_handle);
  TRN_TRY(register_library(options, library_path));
  // A second handle, which the caller may close: ours stays.
  TRN_ASSIGN(auto library, os::Library::open(library_path));
  *library_handle = library.native_handle();
  library.leave_loaded();
  return {};
}

ORT_FN(RegisterCustomOpsUsingFunction, (OrtSessionOptions * options, const char* registration_func_name)) {
  TRN_REQUIRE(options, registration_func_name);
  TRN_ASSIGN(void* symbol, os::process_symbol(registration_func_name));
  return call_registration(symbol, options);
}

ORT_FN(EnableOrtCustomOps, (OrtSessionOptions*)) {
  return error(Code::fail,
               "EnableOrtCustomOps: onnxruntime-extensions are not built in; register their library instead");
}

}  // namespace trunnion::abi
