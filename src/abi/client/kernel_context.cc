// KernelContext_*: one call of a custom operator's kernel.
#include <cstring>

#include "abi/kernel_handles.h"
#include "abi/plugin/sync_stream.h"
#include "abi/slots.h"

OrtKernelContext::OrtKernelContext(trunnion::ops::KernelContext& run, const OrtKernelInfo& info,
                                   const trunnion::abi::CustomOp& op)
    : run(&run), info(&info), op(&op) {
  using namespace trunnion;
  outputs.resize(static_cast<size_t>(run.outputs()));
  output_count = outputs.size();
  inputs.resize(static_cast<size_t>(run.inputs()));
  lent.reserve(inputs.size());
  for (int i = 0; i < run.inputs(); ++i) {
    if (!run.has_in(i)) continue;
    const TensorView& v = run.in(i);
    Value value =
        v.dtype == DType::undefined ? run.input_value(i) : Tensor::borrow(v.dtype, v.shape(), v.data, nullptr);
    inputs[static_cast<size_t>(i)] =
        lent.emplace_back(std::make_unique<OrtValue>(OrtValue{std::move(value), nullptr})).get();
  }
}

OrtKernelContext::OrtKernelContext(trunnion::ops::KernelContext& run, const OrtKernelInfo& info,
                                   trunnion::abi::KernelPlace& place, std::vector<const OrtValue*> inputs,
                                   size_t outputs)
    : run(&run), info(&info), place(&place), inputs(std::move(inputs)), output_count(outputs) {}

OrtKernelContext::~OrtKernelContext() {
  for (const auto& [allocator, memory] : device_scratch) allocator->Free(allocator, memory);
}

namespace trunnion::abi {
namespace {

// The element type of output k: what the operator says, else what the model says.
DType output_type(const OrtKernelContext& c, size_t k) {
  std::vector<DType> inputs;
  for (const auto& v : c.inputs)
    inputs.push_back(v && v->value.is_tensor() ? v->value.tensor().dtype() : DType::undefined);
  const ir::Value* declared = c.info->node->output(static_cast<int>(k));
  const CustomOp::Port* port = CustomOp::port(c.op->outputs, k);
  if (port && port->type == DType::undefined && declared && declared->fact.dtype() != DType::undefined)
    return declared->fact.dtype();
  return c.op->output_type(k, inputs);
}

// An output that is another name for an input begins with its elements.
void fill_alias(const OrtKernelContext& c, size_t k, const Tensor& to) {
  for (const auto& [in, out] : c.op->aliases) {
    if (static_cast<size_t>(out) != k || in < 0 || static_cast<size_t>(in) >= c.inputs.size()) continue;
    const auto& from = c.inputs[static_cast<size_t>(in)];
    if (!from || !from->value.is_tensor()) continue;
    const Tensor& t = from->value.tensor();
    if (t.dtype() != to.dtype() || t.count() != to.count()) continue;
    if (t.dtype() == DType::string)
      std::copy_n(t.data<std::string>(), t.count(), to.data<std::string>());
    else if (t.bytes())
      std::memcpy(to.raw(), t.raw(), t.bytes());
  }
}

Result<OrtAllocator*> allocator_of(const OrtKernelContext& c, const OrtMemoryInfo& memory) {
  if (c.place) return c.place->allocator(memory);
  if (memory.device_type == OrtMemoryInfoDeviceType_CPU) return default_allocator();
  return invalid_argument("the kernel runs on the CPU, which has no '{}' memory", memory.name);
}

}  // namespace

ORT_FN(KernelContext_GetInputCount, (const OrtKernelContext* context, size_t* out)) {
  TRN_REQUIRE(context, out);
  *out = context->inputs.size();
  return {};
}

ORT_FN(KernelContext_GetOutputCount, (const OrtKernelContext* context, size_t* out)) {
  TRN_REQUIRE(context, out);
  *out = context->output_count;
  return {};
}

// NULL for an optional input that is left out.
ORT_FN(KernelContext_GetInput, (const OrtKernelContext* context, size_t index, const OrtValue** out)) {
  TRN_REQUIRE(context, out);
  *out = nullptr;
  if (index >= context->inputs.size())
    return invalid_argument("there is no input {}: the node has {}", index, context->inputs.size());
  *out = context->inputs[index];
  return {};
}

// NULL for an optional output that nobody wants.
ORT_FN(KernelContext_GetOutput,
       (OrtKernelContext * context, size_t index, const int64_t* dim_values, size_t dim_count, OrtValue** out)) {
  TRN_REQUIRE(context, out);
  if (dim_count) TRN_REQUIRE(dim_values);
  *out = nullptr;
  if (index >= context->output_count)
    return invalid_argument("there is no output {}: the node has {}", index, context->output_count);
  const std::span<const int64_t> dims(dim_values, dim_count);
  if (context->place) {
    if (element_count(dims) < 0) return invalid_argument("output {}: {} is no shape", index, shape_text(dims));
    TRN_ASSIGN(*out, context->place->output(index, dims));
    return {};
  }
  auto& made = context->outputs[index];
  if (made && made->value.tensor().shape() == Shape(dims)) {
    *out = made.get();
    return {};
  }
  if (element_count(dims) < 0) return invalid_argument("output {}: {} is no shape", index, shape_text(dims));
  const DType type = output_type(*context, index);
  if (type == DType::undefined)
    return error(Code::fail, "output {}: neither the operator nor the model says its type", index);
  const int k = static_cast<int>(index);
  Tensor tensor;
  if (context->run->has_out(k)) {
    TRN_ASSIGN(const TensorView* view, context->run->allocate_output(k, type, dims));
    tensor = Tensor::borrow(type, dims, view->data, nullptr);
  } else {
    const CustomOp::Port* port = CustomOp::port(context->op->outputs, index);
    if (port && port->kind == INPUT_OUTPUT_OPTIONAL) return {};
    TRN_ASSIGN(tensor, Tensor::allocate(type, dims));  // a required one that is not read: written to, then dropped
  }
  fill_alias(*context, index, tensor);
  made = std::make_unique<OrtValue>(OrtValue{std::move(tensor), nullptr});
  *out = made.get();
  return {};
}

// Outputs are allocated when the kernel names their shape: none is there before.
ORT_FN(KernelContext_GetPreallocatedOutput, (const OrtKernelContext* context, size_t output_index, OrtValue** output)) {
  TRN_REQUIRE(context, output);
  *output = nullptr;
  if (output_index >= context->output_count)
    return invalid_argument("there is no output {}: the node has {}", output_index, context->output_count);
  return {};
}

// Only devices have streams: kernels of the CPU get none.
ORT_FN(KernelContext_GetGPUComputeStream, (const OrtKernelContext* context, void** out)) {
  TRN_REQUIRE(context, out);
  *out = context->place ? stream_handle(context->place->stream()) : nullptr;
  return {};
}

ORT_FN(KernelContext_GetSyncStream, (const OrtKernelContext* context, OrtSyncStream** out)) {
  TRN_REQUIRE(context, out);
  *out = context->place ? context->place->stream() : nullptr;
  return {};
}

ORT_FN(KernelContext_GetResource, (const OrtKernelContext* context, int, int, void** resource)) {
  TRN_REQUIRE(context, resource);
  *resource = nullptr;
  return invalid_argument("Failed to fetch a stream hosting the requested resource: the kernel runs on the CPU");
}

ORT_FN(KernelContext_GetLogger, (const OrtKernelContext* context, const OrtLogger** logger)) {
  TRN_REQUIRE(context, logger);
  *logger = &context->info->session->log;
  return {};
}

ORT_FN(KernelContext_GetAllocator,
       (const OrtKernelContext* context, const OrtMemoryInfo* mem_info, OrtAllocator** out)) {
  TRN_REQUIRE(context, mem_info, out);
  TRN_ASSIGN(*out, allocator_of(*context, *mem_info));
  return {};
}

// Gone when the call is over.
ORT_FN(KernelContext_GetScratchBuffer,
       (const OrtKernelContext* context, const OrtMemoryInfo* mem_info, size_t count_or_bytes, void** out)) {
  TRN_REQUIRE(context, mem_info, out);
  *out = nullptr;
  TRN_ASSIGN(OrtAllocator * allocator, allocator_of(*context, *mem_info));
  if (!count_or_bytes) return {};
  if (allocator != default_allocator()) {
    *out = allocator->Alloc(allocator, count_or_bytes);
    if (!*out) return error(Code::fail, "there are no {} bytes of '{}' memory", count_or_bytes, mem_info->name);
    const_cast<OrtKernelContext*>(context)->device_scratch.emplace_back(allocator, *out);
    return {};
  }
  if (count_or_bytes > static_cast<size_t>(INT64_MAX)) return invalid_argument("{} bytes are too many", count_or_bytes);
  const int64_t bytes[] = {static_cast<int64_t>(count_or_bytes)};
  TRN_ASSIGN(Tensor block, Tensor::allocate(DType::u8, bytes));
  *out = block.raw();
  const_cast<OrtKernelContext*>(context)->scratch.push_back(std::move(block));
  return {};
}

// fn(usr_data, i) for every i below total, in `num_batch` pieces (0: as many as there are).
ORT_FN(KernelContext_ParallelFor,
       (const OrtKernelContext* context, void (*fn)(void*, size_t), size_t total, size_t num_batch, void* usr_data)) {
  TRN_REQUIRE(context);
  if (!fn) return invalid_argument("argument 'fn' must not be NULL");
  if (total > static_cast<size_t>(INT64_MAX)) return invalid_argument("{} iterations are too many", total);
  const size_t grain = num_batch ? total / num_batch + (total % num_batch != 0) : 1;
  context->run->parallel_for(static_cast<int64_t>(total), static_cast<int64_t>(std::max<size_t>(grain, 1)),
                             [&](int64_t begin, int64_t end) {
                               for (int64_t i = begin; i < end; ++i) fn(usr_data, static_cast<size_t>(i));
                             });
  return {};
}

}  // namespace trunnion::abi
