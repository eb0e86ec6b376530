// If, Loop and Scan that a provider claims through its registry: it asks for a kernel of the host's, which stands for
// the engine's own way to run them. Bodies are placed on their own.
#include "abi/kernel_handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kMadeByHost = 1;  // OrtKernelImpl::flags

struct ControlFlow : OrtKernelImpl {
  OrtLoopKernelHelper* loop = nullptr;
  OrtScanKernelHelper* scan = nullptr;
  ~ControlFlow() {
    if (loop && loop->Release) loop->Release(loop);
    if (scan && scan->Release) scan->Release(scan);
  }
};

OrtStatus* ORT_API_CALL compute(OrtKernelImpl*, OrtKernelContext*) {
  return to_ort(error(Code::not_implemented, "the engine runs control flow itself: its kernel is never called"));
}

void ORT_API_CALL release(OrtKernelImpl* kernel) { delete static_cast<ControlFlow*>(kernel); }

Status make(const OrtKernelInfo* info, std::string_view op, OrtLoopKernelHelper* loop, OrtScanKernelHelper* scan,
            OrtKernelImpl** out) {
  TRN_REQUIRE(info, out);
  if (info->node->op_type() != op) return invalid_argument("{} is no {}", info->node->label(), op);
  auto made = std::make_unique<ControlFlow>();
  made->ort_version_supported = ORT_API_VERSION;
  made->flags = kMadeByHost;
  made->Compute = compute;
  made->Release = release;
  made->loop = loop;
  made->scan = scan;
  *out = made.release();
  return {};
}

}  // namespace

TABLE_FN(OrtEpApi, CreateIfKernel, (const OrtKernelInfo* kernel_info, OrtKernelImpl** kernel_out)) {
  return make(kernel_info, "If", nullptr, nullptr, kernel_out);
}
// The helpers belong to the kernel once it is made.
TABLE_FN(OrtEpApi, CreateLoopKernel,
         (const OrtKernelInfo* kernel_info, OrtLoopKernelHelper* helper, OrtKernelImpl** kernel_out)) {
  TRN_REQUIRE(helper);
  return make(kernel_info, "Loop", helper, nullptr, kernel_out);
}
TABLE_FN(OrtEpApi, CreateScanKernel,
         (const OrtKernelInfo* kernel_info, OrtScanKernelHelper* helper, OrtKernelImpl** kernel_out)) {
  TRN_REQUIRE(helper);
  return make(kernel_info, "Scan", nullptr, helper, kernel_out);
}

TABLE_FN_AS(void, OrtEpApi, ReleaseKernelImpl, (OrtKernelImpl * input)) {
  if (input && input->Release) input->Release(input);
}

}  // namespace trunnion::abi
