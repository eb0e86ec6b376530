#include "session/profile.h"

#include <algorithm>

#include "base/error.h"
#include "base/os.h"
#include "base/os_core.h"
#include "plan/node_cost.h"
#include "session/json.h"

namespace trunnion::session {
namespace {

// {"float":[1,3,224,224]}, as ONNX Runtime has it.
std::string type_and_shape(const TensorView& view) {
  return fmt::format("{{{}:[{}]}}", json_text(dtype_name(view.dtype)), fmt::join(view.shape(), ","));
}

struct Traffic {
  std::string inputs, outputs;  // types and shapes
  size_t activation_bytes = 0, parameter_bytes = 0, output_bytes = 0;
};

// Tensors only: ONNX Runtime passes over sequences and maps too.
Traffic traffic_of(const run::StepRecord& record) {
  Traffic t;
  const auto add = [](std::string& list, const TensorView& view) {
    list += (list.empty() ? "" : ",") + type_and_shape(view);
  };
  for (const int v : record.step.inputs) {
    if (v < 0) continue;
    const TensorView& view = record.values[static_cast<size_t>(v)];
    if (view.dtype == DType::undefined) continue;
    add(t.inputs, view);
    const auto& info = record.program.values[static_cast<size_t>(v)];
    (info.constant.valid() ? t.parameter_bytes : t.activation_bytes) += view.bytes();
  }
  for (const int v : record.step.outputs) {
    if (v < 0) continue;
    const TensorView& view = record.values[static_cast<size_t>(v)];
    if (view.dtype == DType::undefined) continue;
    add(t.outputs, view);
    t.output_bytes += view.bytes();
  }
  return t;
}

plan::NodeCost cost_of(const run::StepRecord& record) {
  const auto facts = [&](const std::vector<int>& ids) {
    std::vector<plan::CostFact> list;
    for (const int v : ids) {
      const TensorView* view = v < 0 ? nullptr : &record.values[static_cast<size_t>(v)];
      if (!view || view->dtype == DType::undefined) {
        list.emplace_back();
        continue;
      }
      list.push_back({view->dtype, SymShape(view->shape().begin(), view->shape().end())});
    }
    return list;
  };
  return plan::node_cost(*record.step.node, facts(record.step.inputs), facts(record.step.outputs));
}

// The main thread's waits are not measured: a loop's ranges and their time are, by thread.
std::string threads_json(const run::StepRecord& record) {
  const uint64_t own = os::thread_id();
  run::ThreadShare main{own, os::current_core()};
  std::string others;
  for (const run::ThreadShare& t : record.threads) {
    if (t.thread == own) {
      main = t;
      continue;
    }
    others += fmt::format("{}\"{}\": {{\"num_run\": {}, \"core\": {}, \"Run\": {}}}", others.empty() ? "" : ", ",
                          t.thread, t.ranges, t.core, t.ns / 1000);
  }
  return fmt::format(
      "{{\"main_thread\": {{\"thread_pool_name\": \"intra-op\", \"thread_id\": \"{}\", \"block_size\": [{}], "
      "\"core\": {}, \"num_run\": {}, \"Run\": {}}}, \"sub_threads\": {{{}}}}}",
      own, fmt::join(record.grains, ", "), main.core, main.ranges, main.ns / 1000, others);
}

// What a provider compiled is a node of the domain that is called after it; all else is the CPU's.
std::string_view provider_of(const ir::Node& node, const plan::Placement& placement) {
  const bool compiled = std::ranges::find(placement.providers, node.domain()) != placement.providers.end();
  return compiled ? std::string_view(node.domain()) : "CPUExecutionProvider";
}

// A service that forgets to end its profile is not to run out of memory; ONNX Runtime has the same limit.
constexpr int64_t kMostEvents = 1'000'000;

}  // namespace

Profile::Profile(std::string prefix, const plan::Placement& placement)
    : prefix_(std::move(prefix)), placement_(placement), start_ns_(os::monotonic_ns()) {}

void Profile::event(std::string_view category, std::string_view name, int64_t begin_ns, int64_t end_ns,
                    std::string_view args) {
  add(fmt::format(
      "{{\"cat\" : {},\"pid\" :{},\"tid\" :{},\"dur\" :{},\"ts\" :{},\"ph\" : \"X\",\"name\" :{},\"args\" : {{{}}}}}",
      json_text(category), os::process_id(), os::thread_id(), (end_ns - begin_ns) / 1000, (begin_ns - start_ns_) / 1000,
      json_text(name), args));
}

void Profile::event(const ep::TraceEvent& e) {
  std::string args;
  for (const auto& [key, value] : e.args)
    args += fmt::format("{}{} : {}", args.empty() ? "" : ",", json_text(key), json_text(value));
  add(fmt::format(
      "{{\"cat\" : {},\"pid\" :{},\"tid\" :{},\"dur\" :{},\"ts\" :{},\"ph\" : \"X\",\"name\" :{},\"args\" : {{{}}}}}",
      json_text(e.category), e.process, e.thread, e.duration_us, e.begin_us, json_text(e.name), args));
}

void Profile::add(const std::string& line) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  if (++events_ > kMostEvents) {
    ++dropped_;
    return;
  }
  if (!text_.empty()) text_ += ",\n";
  text_ += line;
}

void Profile::step(const run::StepRecord& record) {
  const plan::Step& step = record.step;
  const Traffic t = traffic_of(record);
  const plan::NodeCost cost = cost_of(record);
  std::string args = fmt::format(
      "\"op_name\" : {},\"provider\" : {},\"node_index\" : \"{}\",\"input_type_shape\" : [{}],"
      "\"output_type_shape\" : [{}],\"activation_size\" : \"{}\",\"parameter_size\" : \"{}\",\"output_size\" : \"{}\","
      "\"thread_scheduling_stats\" : {},\"dur_ns\" : \"{}\"",
      json_text(step.node->op_type()), json_text(provider_of(*step.node, placement_)), step.node_index, t.inputs,
      t.outputs, t.activation_bytes, t.parameter_bytes, t.output_bytes, threads_json(record),
      record.end_ns - record.begin_ns);
  if (cost.flops.is_int())
    args += fmt::format(",\"flops\" : \"{}\",\"arithmetic\" : \"{}\"", cost.flops.value(), cost.arithmetic);
  if (cost.bytes.is_int()) args += fmt::format(",\"bytes\" : \"{}\"", cost.bytes.value());
  if (const auto& origins = step.node->origins; !origins.empty())
    args += fmt::format(",\"nodes\" : {}", json_list(origins, json_text));
  // A node without a name goes by its operator and place, as in ONNX Runtime.
  const std::string& given = step.node->name();
  const std::string name = given.empty() ? fmt::format("{}_{}", step.node->op_type(), step.node_index) : given;
  event("Node", name + "_kernel_time", record.begin_ns, record.end_ns, args);
}

Result<std::string> Profile::finish() {
  std::lock_guard lock(mutex_);
  if (finished_) return std::string();  // as in ONNX Runtime: there is no second file
  finished_ = true;
  if (dropped_ > 0)
    text_ += fmt::format(
        ",\n{{\"cat\" : \"Session\",\"pid\" :{0},\"tid\" :{0},\"dur\" :0,\"ts\" :{1},\"ph\" : \"X\","
        "\"name\" :\"dropped_events\",\"args\" : {{\"count\" : \"{2}\"}}}}",
        os::process_id(), (os::monotonic_ns() - start_ns_) / 1000, dropped_);
  const int64_t now = os::wall_ns();
  const auto t = os::local_time(now / 1'000'000'000);
  const auto path = fmt::format("{}_{:04}-{:02}-{:02}_{:02}-{:02}-{:02}_{:03}.json", prefix_, t.year, t.month, t.day,
                                t.hour, t.minute, t.second, now / 1'000'000 % 1000);
  const std::string text = "[\n" + text_ + "\n]\n";
  TRN_TRY(os::write_file_atomically(path, std::as_bytes(std::span(text))));
  return path;
}

}  // namespace trunnion::session
