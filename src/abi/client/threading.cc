// Thread counts, spinning, affinity and user-made threads, of the environment and of sessions.
#include "abi/handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

// A handle is a pointer to const in C and a plain pointer inside; no caller looks behind it.
using Create = decltype(ThreadHooks::create);
using Join = decltype(ThreadHooks::join);

}  // namespace

ORT_FN(CreateThreadingOptions, (OrtThreadingOptions * *out)) {
  TRN_REQUIRE(out);
  *out = new OrtThreadingOptions;
  return {};
}

ORT_FN_AS(void, ReleaseThreadingOptions, (OrtThreadingOptions * options)) { delete options; }

ORT_FN(SetGlobalIntraOpNumThreads, (OrtThreadingOptions * tp_options, int intra_op_num_threads)) {
  TRN_REQUIRE(tp_options);
  tp_options->options.intra_op_threads = intra_op_num_threads;
  return {};
}

ORT_FN(SetGlobalInterOpNumThreads, (OrtThreadingOptions * tp_options, int inter_op_num_threads)) {
  TRN_REQUIRE(tp_options);
  tp_options->options.inter_op_threads = inter_op_num_threads;
  return {};
}

ORT_FN(SetGlobalSpinControl, (OrtThreadingOptions * tp_options, int allow_spinning)) {
  TRN_REQUIRE(tp_options);
  if (allow_spinning != 0 && allow_spinning != 1)
    return invalid_argument("allow_spinning is 0 or 1, not {}", allow_spinning);
  tp_options->options.allow_spinning = allow_spinning == 1;
  return {};
}

ORT_FN(SetGlobalDenormalAsZero, (OrtThreadingOptions * tp_options)) {
  TRN_REQUIRE(tp_options);
  tp_options->options.denormal_as_zero = true;
  return {};
}

ORT_FN(SetGlobalIntraOpThreadAffinity, (OrtThreadingOptions * tp_options, const char* affinity_string)) {
  TRN_REQUIRE(tp_options, affinity_string);
  const std::string_view text = affinity_string;
  if (text.empty() || text.size() > 4096)
    return invalid_argument("the affinity string has {} bytes, not 1 to 4096", text.size());
  tp_options->options.intra_op_affinity = text;
  return {};
}

ORT_FN(SetGlobalCustomCreateThreadFn,
       (OrtThreadingOptions * tp_options, OrtCustomCreateThreadFn ort_custom_create_thread_fn)) {
  TRN_REQUIRE(tp_options);
  tp_options->options.hooks.create = reinterpret_cast<Create>(ort_custom_create_thread_fn);
  return {};
}

ORT_FN(SetGlobalCustomThreadCreationOptions,
       (OrtThreadingOptions * tp_options, void* ort_custom_thread_creation_options)) {
  TRN_REQUIRE(tp_options);
  tp_options->options.hooks.user = ort_custom_thread_creation_options;
  return {};
}

ORT_FN(SetGlobalCustomJoinThreadFn,
       (OrtThreadingOptions * tp_options, OrtCustomJoinThreadFn ort_custom_join_thread_fn)) {
  TRN_REQUIRE(tp_options);
  tp_options->options.hooks.join = reinterpret_cast<Join>(ort_custom_join_thread_fn);
  return {};
}

ORT_FN(SessionOptionsSetCustomCreateThreadFn,
       (OrtSessionOptions * options, OrtCustomCreateThreadFn ort_custom_create_thread_fn)) {
  TRN_REQUIRE(options);
  options->options.thread_hooks.create = reinterpret_cast<Create>(ort_custom_create_thread_fn);
  return {};
}

ORT_FN(SessionOptionsSetCustomThreadCreationOptions,
       (OrtSessionOptions * options, void* ort_custom_thread_creation_options)) {
  TRN_REQUIRE(options);
  options->options.thread_hooks.user = ort_custom_thread_creation_options;
  return {};
}

ORT_FN(SessionOptionsSetCustomJoinThreadFn,
       (OrtSessionOptions * options, OrtCustomJoinThreadFn ort_custom_join_thread_fn)) {
  TRN_REQUIRE(options);
  options->options.thread_hooks.join = reinterpret_cast<Join>(ort_custom_join_thread_fn);
  return {};
}

ORT_FN(CreatePrepackedWeightsContainer, (OrtPrepackedWeightsContainer * *out)) {
  TRN_REQUIRE(out);
  *out = new OrtPrepackedWeightsContainer;
  return {};
}

ORT_FN_AS(void, ReleasePrepackedWeightsContainer, (OrtPrepackedWeightsContainer * container)) { delete container; }

}  // namespace trunnion::abi
