// What providers compiled and keep outside the model: how the client wants it read and written, for plugins to ask.
#include "abi/handles.h"
#include "abi/slots.h"

// A copy: it may outlive the session options.
struct OrtEpContextConfig {
  OrtReadNamedBufferFunc read = nullptr;
  void* read_state = nullptr;
  OrtWriteNamedBufferFunc write = nullptr;
  void* write_state = nullptr;

  TRN_HANDLE(OrtEpContextConfig);
};

namespace trunnion::abi {

TABLE_FN(OrtEpApi, SessionOptionsGetEpContextConfig,
         (const OrtSessionOptions* session_options, OrtEpContextConfig** config)) {
  TRN_REQUIRE(session_options, config);
  const session::Options& o = session_options->options;
  auto made = std::make_unique<OrtEpContextConfig>();
  made->read = reinterpret_cast<OrtReadNamedBufferFunc>(o.ep_context_read);
  made->read_state = made->read ? o.ep_context_read_state : nullptr;
  made->write = reinterpret_cast<OrtWriteNamedBufferFunc>(o.ep_context_write);
  made->write_state = made->write ? o.ep_context_write_state : nullptr;
  *config = made.release();
  return {};
}

TABLE_FN_AS(void, OrtEpApi, ReleaseEpContextConfig, (OrtEpContextConfig * input)) { delete input; }

// NULL where the client gave none: the provider then uses files.
TABLE_FN(OrtEpApi, EpContextConfigGetEpContextDataReadFunc,
         (const OrtEpContextConfig* config, OrtReadNamedBufferFunc* read_func, void** state)) {
  TRN_REQUIRE(config, read_func, state);
  *read_func = config->read;
  *state = config->read_state;
  return {};
}

TABLE_FN(OrtEpApi, EpContextConfigGetEpContextDataWriteFunc,
         (const OrtEpContextConfig* config, OrtWriteNamedBufferFunc* write_func, void** state)) {
  TRN_REQUIRE(config, write_func, state);
  *write_func = config->write;
  *state = config->write_state;
  return {};
}

}  // namespace trunnion::abi
