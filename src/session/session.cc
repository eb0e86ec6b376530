#include "session/session.h"

#include <algorithm>
#include <array>

#include "base/cpu_info.h"
#include "base/edit_distance.h"
#include "base/error.h"
#include "base/os.h"
#include "ep/cpu/cpu_provider.h"
#include "ep/null/null_provider.h"
#include "ir/inline.h"
#include "ir/names.h"
#include "onnx/exporter.h"
#include "onnx/external_data.h"
#include "onnx/importer.h"
#include "onnx/reader.h"
#include "ops/catalog.h"
#include "passes/expand.h"
#include "schema/schema.h"
#include "session/check_options.h"
#include "session/context_model.h"
#include "session/declared_shapes.h"
#include "session/flushing_hooks.h"
#include "session/json.h"
#include "session/pack_room.h"
#include "session/placement_options.h"
#include "session/precision_options.h"
#include "session/weights.h"

namespace trunnion::session {
namespace {

constexpr std::string_view kCpu = "CPUExecutionProvider";

std::string folder_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

ep::Level level_of(OptimizationLevel level) { return static_cast<ep::Level>(static_cast<int>(level)); }

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const auto at = text.find(by);
    if (auto part = text.substr(0, at); !part.empty()) out.emplace_back(part);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  }
  return out;
}

// Whether nobody but this engine and its CPU provider sees the graph.
bool only_cpu(const Options& options) {
  for (const auto& choice : options.providers)
    if (choice.name != kCpu) return false;
  return !options.custom_operators && !options.optimized_model_sink && options.optimized_model_path.empty() &&
         !options.flag("ep.context_enable");
}

// The error with the file in front, in ONNX Runtime's words. A model out of memory has no name.
Status of_file(const std::string& path, Status status) {
  if (status.ok() || path.empty() || status.message().starts_with("Load model from ")) return status;
  return Status(status.code(), fmt::format("Load model from {} failed:{}", path, status.message()));
}

}  // namespace

Session::~Session() {
  if (blocks_) blocks_->close();
}

Result<std::unique_ptr<Session>> Session::load(const Environment& environment, ModelSource source, Options options) {
  std::unique_ptr<Session> session(new Session());
  Session& s = *session;
  s.options_ = std::move(options);
  s.logger_ = environment.logger;
  if (s.options_.log_sink) s.logger_ = Logger(s.options_.log_sink, s.logger_.lowest(), s.logger_.id());
  if (!s.options_.log_id.empty()) s.logger_ = s.logger_.with_id(s.options_.log_id);
  if (s.options_.log_severity >= 0) s.logger_ = s.logger_.with_lowest(static_cast<Severity>(s.options_.log_severity));
  if (s.options_.profiling) s.profile_ = std::make_unique<Profile>(s.options_.profile_prefix, s.placement_);

  const auto stage = [&](const char* name, auto&& work) -> Status {
    if (s.options_.cancel_load && s.options_.cancel_load->load())
      return error(Code::model_load_canceled, "Session initialization canceled due to user request.");
    const int64_t begin = os::monotonic_ns();
    Status status = work();
    const int64_t end = os::monotonic_ns();
    s.timings_.push_back({name, static_cast<double>(end - begin) * 1e-6});
    if (s.profile_) s.profile_->event("Session", name, begin, end);
    return status;
  };
  TRN_TRY(check_options(s.options_, s.logger_));
  const std::string path = source.path;
  TRN_TRY(stage("import", [&] { return of_file(path, s.import(std::move(source), true)); }));
  if (!s.cached_) {
    ir::Graph& graph = *s.model_->graph;
    TRN_TRY(stage("inline", [&] { return of_file(path, s.inline_functions()); }));
    TRN_TRY(stage("resolve", [&] {
      if (s.options_.custom_operators) TRN_TRY(of_file(path, s.options_.custom_operators->bind(graph)));
      return of_file(path, ops::resolve(graph));
    }));
    s.seed_random_nodes();
    TRN_TRY(stage("infer", [&] { return of_file(path, s.infer_shapes()); }));
    TRN_TRY(stage("expand", [&] { return passes::expand_operators(graph, &s.logger_); }));
    s.list_ports();  // before passes: names and order are the user's
    if (s.cache_)
      TRN_TRY(stage("cache", [&] {
        auto found = s.cache_->find(graph);
        s.cached_ = found != nullptr;
        if (found) s.uncached_ = std::exchange(s.model_->graph, std::move(found));
        return Status();
      }));
  }
  TRN_TRY(stage("optimize", [&] { return s.optimize(); }));
  TRN_TRY(stage("place", [&] { return s.place(); }));
  TRN_TRY(stage("plan", [&] { return s.build_program(environment); }));
  for (const auto& p : s.providers_) TRN_TRY(p->session_ready());
  if (s.providers_.size() > 1 && s.placement_.count(0) < static_cast<int>(s.placement_.nodes.size()))
    TRN_LOG(s.logger_, warning, "{}", s.placement_summary());
  else
    TRN_LOG(s.logger_, info, "{}", s.placement_summary());
  if (s.profile_) s.profile_loading();
  TRN_LOG(s.logger_, info, "Session successfully initialized.");
  return session;
}

Result<std::shared_ptr<ir::Model>> Session::read_model(const Environment& environment, const std::string& path,
                                                       const Options& options) {
  if (path.empty()) return error(Code::no_such_file, "the path of the model is empty");
  Session s;
  s.options_ = options;
  s.logger_ = environment.logger;
  ModelSource source;
  source.path = path;
  TRN_TRY(of_file(path, s.import(std::move(source), false)));
  // The weights are views into the file: it lives as long as the model.
  return std::shared_ptr<ir::Model>(s.model_.get(), [model = s.model_, file = s.file_](ir::Model*) {});
}

std::optional<int64_t> Session::dimension_override(std::string_view symbol, std::string_view denotation) const {
  if (!symbol.empty())
    for (const auto& [name, value] : options_.dimension_by_name)
      if (name == symbol) return value;
  if (!denotation.empty())
    for (const auto& [name, value] : options_.dimension_by_denotation)
      if (name == denotation) return value;
  return std::nullopt;
}

std::optional<Tensor> Session::replacement(std::string_view initializer) const {
  for (const auto* map : {&options_.initializers, &options_.external_initializers})
    if (const auto it = map->find(initializer); it != map->end() && it->second.is_tensor()) return it->second.tensor();
  return std::nullopt;
}

void Session::fix_unnamed_dimensions(ir::Graph& graph, ModelNames& names) const {
  for (ir::Value* v : graph.inputs()) {
    if (!v->fact.has_rank()) continue;
    for (int axis = 0; axis < v->fact.rank(); ++axis) {
      Dim& d = (*v->fact.type.shape)[static_cast<size_t>(axis)];
      if (!d.is_unknown()) continue;
      const std::string name = fmt::format("{}.{}", v->name(), axis);
      if (const auto size = dimension_override(name, {})) d = *size;
      names.symbols.insert(name);
    }
  }
}

Status Session::inline_functions() {
  const int64_t nodes = options_.number("session.function_expansion_node_limit", 500'000);
  return ir::inline_functions(*model_, {.nodes = nodes});
}

// Options that name parts of the model are checked against the model itself.
bool Session::take_unread(const std::string& path, const onnx::ExternalData& external) {
  if (!file_ || !options_.dimension_by_name.empty() || !options_.dimension_by_denotation.empty() ||
      options_.entry("precision.nodes"))
    return false;
  auto found = cache_->find_unread(*file_, external);
  auto ports = found ? read_ports(found->ports) : std::nullopt;
  if (!ports) return false;
  model_ = std::make_shared<ir::Model>(std::move(found->model));
  model_->path = path;
  cached_ = true;
  feeds_ = std::move(ports->inputs);
  inputs_ = feeds_;
  outputs_ = std::move(ports->outputs);
  declared_ = std::move(ports->declared);
  defaults_.resize(feeds_.size());
  index_ports();
  return true;
}

// The entry that stood for a model that was not read does not fit: as if it had not been there.
Status Session::read_after_all() {
  ModelSource source;
  source.path = model_->path;
  auto outputs = std::exchange(outputs_, {});  // import lists what the model declares
  TRN_TRY(import(std::move(source), false));
  outputs_ = std::move(outputs);
  TRN_TRY(inline_functions());
  TRN_TRY(ops::resolve(*model_->graph));
  seed_random_nodes();
  TRN_TRY(infer_shapes());
  return passes::expand_operators(*model_->graph, &logger_);
}

Status Session::import(ModelSource source, bool unread) {
  onnx::TensorSource tensors;
  std::span<const std::byte> bytes = source.bytes;
  std::string folder;
  if (!source.path.empty()) {
    const auto mode = options_.flag("session.map_model", true) ? OpenMode::map : OpenMode::copy;
    if (os::file_kind(source.path) == os::FileKind::none)
      return error(Code::no_such_file, "Load model from {} failed:Load model {} failed. File doesn't exist",
                   source.path, source.path);
    auto file = MappedFile::open(source.path, mode);
    if (!file.ok())
      return Status(Code::no_such_file,
                    fmt::format("Load model from {} failed:{}", source.path, file.status().message()));
    file_ = std::move(file).value();
    bytes = file_->bytes();
    tensors.keep_alive = file_;
    folder = folder_of(source.path);
  } else {
    tensors.keep_alive = source.keep_alive;
    if (const auto given = options_.entry("session.model_external_initializers_file_folder_path")) folder = *given;
  }
  std::vector<std::string> also;  // where the model is a link, its data lies beside what it links to
  if (!source.path.empty())
    if (auto real = os::canonical(source.path); real.ok()) also.push_back(folder_of(*real));
  onnx::ExternalData external(folder, also);
  for (const auto& f : options_.external_files)
    external.add_memory_file(f.name, {reinterpret_cast<const std::byte*>(f.data), f.size}, nullptr);
  if (!folder.empty() || !options_.external_files.empty()) tensors.external = &external;

  if (only_cpu(options_)) cache_ = ModelCache::of(options_, logger_, bytes);
  if (cache_ && unread && take_unread(source.path, external)) return {};
  auto view = onnx::parse(bytes, source.path);
  if (!view.ok()) {
    const std::string_view from = source.path.empty() ? std::string_view("memory") : std::string_view(source.path);
    return Status(view.status().code(), fmt::format("Load model from {} failed:{}", from, view.status().message()));
  }
  // What is copied out of a mapped file is not read there again: its pages go at once.
  tensors.copied = [&](onnx::Bytes part) {
    if (file_ && file_->drop_pages(part)) return;
    for (const auto& file : external.files())
      if (file->drop_pages(part)) return;
  };
  // Whoever else looks at the graph gets aligned constants.
  tensors.any_alignment = only_cpu(options_);
  onnx::ImportOptions how;
  how.path = source.path;
  ModelNames names;
  if (!options_.initializers.empty() || !options_.external_initializers.empty())
    how.replace_initializer = [&](std::string_view name) {
      names.initializers.emplace(name);
      return replacement(name);
    };
  if (!options_.dimension_by_name.empty() || !options_.dimension_by_denotation.empty())
    how.override_dimension = [&](std::string_view symbol, std::string_view denotation) {
      if (!symbol.empty()) names.symbols.emplace(symbol);
      if (!denotation.empty()) names.denotations.emplace(denotation);
      return dimension_override(symbol, denotation);
    };
  TRN_ASSIGN(ir::Model model, onnx::import_model(std::move(*view), tensors, how));
  if (!options_.dimension_by_name.empty()) fix_unnamed_dimensions(*model.graph, names);
  TRN_TRY(check_names(options_, names, logger_));
  if (tensors.any_alignment) TRN_TRY(align_constants(*model.graph));
  model_ = std::make_shared<ir::Model>(std::move(model));
  data_files_ = external.files();
  if (cache_) cache_->set_files(file_, external);
  for (const ir::Value* v : model_->graph->outputs()) outputs_.push_back({v->name(), v->fact.type});
  return {};
}

Status Session::infer_shapes() {
  const DeclaredShapes declared(*model_->graph);
  TRN_TRY(ops::infer(*model_->graph));
  const auto lines = declared.contradictions();
  if (lines.empty()) return {};
  if (options_.flag("session.strict_shape_type_inference", false)) return invalid_graph("{}", lines.front());
  // Files with shapes of an earlier export or batch size are common, and harmless: nothing here reads the declarations.
  for (const auto& line : lines) TRN_LOG(logger_, warning, "{}; the inferred shape counts", line);
  return {};
}

void Session::seed_random_nodes() {
  if (!options_.entry("session.random_seed")) return;
  // Nodes with a seed of their own keep it; the others get one each, so that they do not all draw the same numbers.
  auto seed = static_cast<float>(options_.number("session.random_seed", 0));
  model_->graph->for_each_node_deep([&](ir::Node* n) {
    const bool seeded = n->def && n->def->flags.random && n->schema && n->schema->attribute("seed");
    if (seeded && !n->has_attr("seed")) n->set_attr("seed", seed++);
  });
}

void Session::list_ports() {
  const ir::Graph& graph = *model_->graph;
  for (const ir::Value* v : graph.inputs()) {
    feeds_.push_back({v->name(), v->fact.type});
    defaults_.push_back(v->constant().valid() ? Value(v->constant()) : Value());
    (v->constant().valid() ? overridable_ : inputs_).push_back(feeds_.back());
  }
  // What the model declares of its outputs fills what inference leaves open; it is no proof for anything else.
  for (size_t k = 0; k < outputs_.size(); ++k) {
    const ir::Value* v = graph.outputs()[k];
    const Type declared = std::exchange(outputs_[k].type, v->fact.type);
    Type& type = outputs_[k].type;
    outputs_[k].name = v->name();
    if (!declared.shape || type.kind != declared.kind) continue;
    bool open = !type.shape;  // whether only a run can tell if the declaration is right
    if (!type.shape) type.shape = declared.shape;
    for (size_t i = 0; i < type.shape->size() && type.shape->size() == declared.shape->size(); ++i) {
      open |= !(*type.shape)[i].is_int() && (*declared.shape)[i].is_int();
      if ((*type.shape)[i].is_unknown()) (*type.shape)[i] = (*declared.shape)[i];
    }
    if (!open) continue;
    declared_.resize(outputs_.size());
    declared_[k] = declared.shape;
  }
  index_ports();
}

void Session::index_ports() {
  for (size_t i = 0; i < feeds_.size(); ++i) feed_index_.emplace(feeds_[i].name, static_cast<int>(i));
  for (size_t i = 0; i < outputs_.size(); ++i) output_index_.emplace(outputs_[i].name, static_cast<int>(i));
}

Status Session::optimize() {
  if (cached_) return {};
  ir::Graph& graph = *model_->graph;
  passes::RunOptions run;
  run.disabled = split(options_.entry("optimization.disable_specified_optimizers").value_or(""), ';');
#ifndef NDEBUG
  run.verify = true;
#endif
  passes::PassContext context;
  context.log = &logger_;
  context.fold_limit_bytes =
      options_.number("optimization.constant_folding_max_output_size_in_bytes", context.fold_limit_bytes);
  run.max_rounds = 4;  // what one pass frees, an earlier one may take; mostly nothing is left after one
  if (options_.optimization_level >= OptimizationLevel::basic)
    TRN_TRY(passes::run_passes(graph, passes::clean(), context, run, pass_records_));
  if (!options_.optimized_model_path.empty() || options_.optimized_model_sink) {
    ir::separate_names(graph);  // in a file, names of bodies and of the graph around them are one space
    if (!options_.optimized_model_path.empty()) TRN_TRY(save_optimized_model());
    if (options_.optimized_model_sink) TRN_TRY(options_.optimized_model_sink(*model_));
  }
  return {};
}

// Nodes that only the CPU took, where the caller does not want that.
Status Session::check_fallback(bool cpu_listed) const {
  if (providers_.size() == 1) return {};
  const bool strict = options_.flag("session.strict_placement");  // all on the first listed
  const bool no_cpu = options_.flag("session.disable_cpu_ep_fallback");
  if (no_cpu && cpu_listed)
    return invalid_argument("session.disable_cpu_ep_fallback is 1, but CPUExecutionProvider is among the providers");
  for (const auto& n : placement_.nodes) {
    if (!(strict && n.provider != 0) && !(no_cpu && n.provider == cpu_)) continue;
    std::string reasons;
    for (const auto& r : n.refused)
      reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", r.provider, r.reason);
    if (strict)
      return error(Code::fail, "session.strict_placement is 1, but {} is not on {} ({})", n.node,
                   placement_.providers[0], reasons);
    return error(
        Code::fail,
        "This session contains graph nodes that are assigned to the default CPU EP, but fallback to CPU EP has "
        "been explicitly disabled by the user: {} ({})",
        n.node, reasons);
  }
  return {};
}

Status Session::place() {
  const bool cpu_listed = std::ranges::any_of(options_.providers, [](const auto& c) { return c.name == kCpu; });
  for (const auto& choice : options_.providers) {
    if (choice.name == kCpu) {
      cpu_ = static_cast<int>(providers_.size());
      providers_.push_back(ep::make_cpu_provider());
      continue;
    }
    if (choice.name == "NullExecutionProvider") {
      providers_.push_back(ep::make_null_provider());
      continue;
    }
    if (!choice.source)
      return error(Code::invalid_argument,
                   "execution provider '{}' is not available in this build; available: CPUExecutionProvider{}",
                   choice.name, did_you_mean(choice.name, std::array{kCpu}));
    if (providers_.empty()) ir::separate_names(*model_->graph);  // plugins see names, not pointers
    auto provider = choice.source->make(*model_, logger_);
    if (!provider.ok())
      return provider.status().with_context(fmt::format("the execution provider '{}' cannot start", choice.name));
    providers_.push_back(std::move(provider).value());
  }
  if (!cpu_listed) {
    cpu_ = static_cast<int>(providers_.size());
    providers_.push_back(ep::make_cpu_provider());
  }
  for (const auto& p : providers_)
    if (std::mutex* one = p->one_run(); one && std::ranges::find(one_run_, one) == one_run_.end())
      one_run_.push_back(one);
  if (profile_)
    for (const auto& p : providers_)
      if (const Status s = p->start_profiling(os::monotonic_ns() - profile_->start_ns()); !s.ok())
        TRN_LOG(logger_, warning, "the profile is without what {} measures: {}", p->identity().name, s.message());
  std::ranges::sort(one_run_, std::less<>());  // sessions lock them in the same order
  TRN_ASSIGN(auto how, placement_options(options_, providers_, cpu_));
  how.compatibility = options_.flag("ep.context_enable");
  TRN_ASSIGN(placement_, plan::place(*model_->graph, providers_, how));
  TRN_TRY(check_fallback(cpu_listed));
  if (options_.flag("ep.context_enable")) {
    if (providers_.size() > 1)
      TRN_TRY(write_context_model(*model_, placement_, options_, logger_));
    else if (!options_.context_model_sink)
      TRN_LOG(logger_, info,
              "ep.context_enable has no effect: the CPU provider compiles nothing that a file could hold");
  }
  if (placement_.regions > 0) {  // weights that only compiled nodes read: their providers have what they need of them
    std::vector<ir::Value*> unused;
    model_->graph->for_each_value([&](ir::Value* v) {
      if (v->is_constant() && v->unused()) unused.push_back(v);
    });
    for (ir::Value* v : unused) model_->graph->erase(v);
  }
  passes::PassContext context;
  TRN_ASSIGN(context.precision, precision_options(options_, uncached_ ? *uncached_ : *model_->graph, logger_));
  const bool any = options_.optimization_level >= OptimizationLevel::basic || context.precision.any(Precision::strict);
  if (any && !cached_) {
    context.log = &logger_;
    passes::RunOptions run;
    run.disabled = split(options_.entry("optimization.disable_specified_optimizers").value_or(""), ';');
    if (options_.flag("session.disable_quant_qdq")) run.disabled.push_back("QDQSelectorActionTransformer");
#ifndef NDEBUG
    run.verify = true;
#endif
    const auto pipeline = providers_[static_cast<size_t>(cpu_)]->pipeline(level_of(options_.optimization_level));
    std::vector<passes::PassFault> faults;
    TRN_TRY(passes::run_passes_or_undo(model_->graph, pipeline, context, run, pass_records_, faults));
    for (const auto& fault : faults)
      TRN_LOG(logger_, warning, "The optimizer {} failed and is left out, which may make runs slower: {}",
              fault.pass.empty() ? "of the CPU provider" : fault.pass, fault.message);
  }
  return {};
}

Status Session::make_kernels(const Environment& environment) {
  ir::Graph& graph = *model_->graph;
  drop_file_pages();  // of weights that fusions have made others of
  TRN_TRY(align_constants(graph));
  size_t weights = 0;
  graph.for_each_value(
      [&](const ir::Value* v) { weights += v->constant().dtype() == DType::string ? 0 : v->constant().bytes(); });
  auto files = data_files_;
  if (file_) files.push_back(file_);
  PackRoom packs(environment.packs.get(), pool_.get(), threads_, weights, files);
  std::optional<CachedPacks> cached;
  if (cached_) cached.emplace(cache_->entry());
  const bool keep = cache_ && !cached;
  if (keep) packs.record();
  // Weights that kernels have packed are held once: each original goes as soon as the last kernel has read it, and so
  // do the pages of the file that it was read from. An entry of the cache needs those that a kernel packed its own way.
  std::vector<const ir::Value*> kept;
  const auto packed = [&](const ir::Value& v) {
    keep && !packs.recorded(v.constant().raw()) ? kept.push_back(&v) : release_weight(v);
  };
  ops::PackScope scope(cached ? static_cast<ops::PackPlace*>(&*cached) : &packs);
  TRN_ASSIGN(program_, plan::build(graph, *providers_[static_cast<size_t>(cpu_)], model_, packed));
  if (cached && !cached->all_taken()) return error(Code::fail, "the entry has more operands than the kernels packed");
  if (keep) {
    // Default values of inputs lie in the model.
    const bool all = overridable_.empty();
    cache_->store(*model_, packs.records(), all ? ports_bytes({feeds_, outputs_, declared_}) : std::string());
    for (const ir::Value* v : kept) release_weight(*v);
  }
  drop_file_pages();
  TRN_LOG(logger_, info, "{} bytes of packed operands, {} of them shared with other sessions", packs.packed_bytes(),
          packs.shared_bytes());
  return {};
}

Status Session::build_program(const Environment& environment) {
  // Sessions share one pool, capped by intra_op_num_threads. A pool of its own: for affinities, for threads made by the
  // caller, without spinning, to be watched, with denormals as zero, and for more threads than the shared pool has.
  const int asked = options_.intra_op_threads;
  const auto affinity = options_.entry("session.intra_op_thread_affinities").value_or("");
  const bool spinning = options_.flag("session.intra_op.allow_spinning", true);
  std::shared_ptr<ThreadPool> shared = environment.pool;
  const int available = shared ? shared->threads() : default_thread_count();
  const bool own = options_.per_session_threads || !shared;
  const bool watched = own && options_.work_hooks;
  const bool flush = options_.flag("session.set_denormal_as_zero");
  flush_denormals_ = flush || environment.flush_denormals;
  if (!affinity.empty() || options_.thread_hooks.create || !spinning || watched || flush || asked > available) {
    ThreadPool::Options pool;
    pool.threads = asked > 0 ? asked : available;
    TRN_ASSIGN(pool.affinity, parse_affinity(affinity, pool.threads - 1));
    pool.hooks = options_.thread_hooks;
    if (watched) client_hooks_ = options_.work_hooks;
    pool.work_hooks = flush_denormals_ ? flushing_hooks(client_hooks_) : client_hooks_;
    pool.allow_spinning = spinning;
    threads_ = pool.threads;
    pool_ = std::make_shared<ThreadPool>(std::move(pool));
  } else {
    threads_ = asked > 0 ? asked : available;
    if (threads_ > 1) pool_ = shared ? shared : ThreadPool::shared();
  }
  Status made = make_kernels(environment);
  if (!made.ok() && cached_) {  // the entry did not fit: as if it were not there
    cache_->drop(made);
    cached_ = false;
    program_.reset();
    if (uncached_)
      model_->graph = std::exchange(uncached_, nullptr);
    else
      TRN_TRY(of_file(model_->path, read_after_all()));
    providers_.clear();
    TRN_TRY(optimize());
    TRN_TRY(place());
    made = make_kernels(environment);
  }
  TRN_TRY(std::move(made));
  cache_.reset();
  uncached_.reset();
  data_files_.clear();  // what is still read keeps its file
  executor_ = std::make_unique<run::Executor>(*program_, threads_);
  if (options_.cpu_arena) blocks_ = std::make_shared<run::BlockCache>();
  return {};
}

Status Session::save_optimized_model() const {
  onnx::ExportOptions to;
  to.external_file = options_.entry("session.optimized_model_external_initializers_file_name").value_or("");
  to.external_threshold =
      static_cast<uint64_t>(options_.number("session.optimized_model_external_initializers_min_size_in_bytes", 1024));
  return onnx::export_model(*model_, options_.optimized_model_path, to);
}

void Session::drop_file_pages() const {
  if (file_) file_->drop_pages(0, file_->size());
  for (const auto& file : data_files_) file->drop_pages(0, file->size());
}

void Session::release_weight(const ir::Value& v) const {
  const Tensor& t = v.constant();
  const std::span bytes(t.data<const std::byte>(), t.dtype() == DType::string ? 0 : t.bytes());
  if (!(file_ && file_->drop_pages(bytes)))
    for (const auto& file : data_files_)
      if (file->drop_pages(bytes)) break;
  v.graph()->set_constant(v.graph()->find(v.name()), Tensor::borrow(t.dtype(), t.shape(), nullptr, nullptr));
}

Session::Memory Session::memory() const {
  Memory m;
  model_->graph->for_each_value([&](ir::Value* v) {
    if (v->constant().raw()) m.weights_bytes += v->constant().bytes();
  });
  m.arena_bytes = executor_->arena_bytes();
  m.output_bytes = blocks_ ? blocks_->idle_bytes() : 0;
  m.cached_plans = executor_->plans().roots();
  return m;
}

Result<std::string> Session::end_profiling() {
  if (!profile_) return error(Code::fail, "Could not end the profile: profiling is not enabled in the session options");
  for (const auto& p : providers_) {
    const auto events = p->end_profiling();
    if (!events.ok())
      TRN_LOG(logger_, warning, "the profile is without what {} measured: {}", p->identity().name,
              events.status().message());
    for (const ep::TraceEvent& e : events.ok() ? *events : std::vector<ep::TraceEvent>()) profile_->event(e);
  }
  return profile_->finish();
}

// The names under which ONNX Runtime's profile has loading, and what the times of the runs depend on.
void Session::profile_loading() {
  const int64_t begin = profile_->start_ns(), end = os::monotonic_ns();
  const int64_t read = begin + static_cast<int64_t>(timings_.front().milliseconds * 1e6);
  profile_->event("Session", "model_loading_uri", begin, read);
  profile_->event("Session", "session_initialization", read, end,
                  fmt::format("\"precision\" : {},\"cpu\" : {},\"threads\" : \"{}\"",
                              json_text(options_.entry("precision").value_or("fp32")),
                              json_text(rung_name(active_rung())), threads_));
}

int64_t Session::profiling_start_ns() const { return profile_ ? profile_->start_ns() : 0; }

}  // namespace trunnion::session
