// A node whose kernel is a client's: made by its OrtCustomOp, called with OrtValues over the engine's tensors.
#include "abi/kernel_handles.h"
#include "abi/slots.h"

namespace trunnion::abi {
namespace {

constexpr uint32_t kWithStatus = 16;  // the version of OrtCustomOp that brought CreateKernelV2 and KernelComputeV2

class CustomKernel final : public ops::Kernel {
 public:
  CustomKernel(const CustomOp& op, OrtKernelInfo info) : op_(op), info_(std::move(info)) {}
  ~CustomKernel() override {
    if (kernel_ && op_.op->KernelDestroy) op_.op->KernelDestroy(kernel_);
  }

  Status create() {
    const OrtCustomOp& o = *op_.op;
    const OrtApi* table = OrtGetApiBase()->GetApi(ORT_API_VERSION);
    return guarded([&]() -> Status {
      if (o.version >= kWithStatus && o.CreateKernelV2) return from_ort(o.CreateKernelV2(&o, table, &info_, &kernel_));
      if (!o.CreateKernel) return error(Code::fail, "the custom operator has no function that makes its kernel");
      kernel_ = o.CreateKernel(&o, table, &info_);
      return {};
    });
  }

  Status run(ops::KernelContext& run) const override {
    OrtKernelContext context(run, info_, op_);
    const OrtCustomOp& o = *op_.op;
    TRN_TRY(guarded([&]() -> Status {
      if (o.version >= kWithStatus && o.KernelComputeV2) return from_ort(o.KernelComputeV2(kernel_, &context));
      if (!o.KernelCompute) return error(Code::fail, "the custom operator has no function that computes");
      o.KernelCompute(kernel_, &context);
      return {};
    }));
    for (int k = 0; k < run.outputs(); ++k)
      if (run.has_out(k) && !context.outputs[static_cast<size_t>(k)])
        return error(Code::fail, "the custom operator gave no output {}", k);
    return {};
  }

 private:
  const CustomOp& op_;
  OrtKernelInfo info_;
  void* kernel_ = nullptr;
};

}  // namespace

ir::Attr::Data default_of(const schema::Attr& a) {
  switch (a.type) {
    case schema::AttrType::i:
      return a.i;
    case schema::AttrType::f:
      return a.f;
    case schema::AttrType::s:
      return std::string(a.s);
    case schema::AttrType::ints:
      return a.ints;
    case schema::AttrType::floats:
      return a.floats;
    case schema::AttrType::strings:
      return ir::Attr::Strings(a.strings.begin(), a.strings.end());
    default:
      return {};
  }
}

OrtKernelInfo make_kernel_info(const ir::Node& node, std::shared_ptr<const CustomSession> session) {
  OrtKernelInfo info;
  info.node = &node;
  info.session = std::move(session);
  for (size_t i = 0; i < node.inputs().size(); ++i)
    if (const ir::Value* v = node.inputs()[i]; v && v->is_constant())
      info.constants.emplace(i, std::make_shared<const OrtValue>(OrtValue{v->constant(), nullptr}));
  for (const schema::Attr& a : node.schema ? std::span(node.schema->attributes) : std::span<const schema::Attr>()) {
    if (!a.has_default || node.has_attr(a.name)) continue;
    ir::Attr filled{std::string(a.name), default_of(a), {}};
    if (filled.type() != ir::AttrType::undefined) info.defaults.emplace(filled.name, filled);
  }
  return info;
}

Result<std::unique_ptr<ops::Kernel>> make_custom_kernel(const ir::Node& node) {
  const auto& def = static_cast<const CustomOpDef&>(*node.def);
  TRN_ASSIGN(const CustomOp* op, def.choose(node));
  auto kernel = std::make_unique<CustomKernel>(*op, make_kernel_info(node, def.session));
  TRN_TRY(kernel->create());
  return std::unique_ptr<ops::Kernel>(std::move(kernel));
}

}  // namespace trunnion::abi
