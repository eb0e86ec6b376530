#include "session/check_options.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "base/cpu_info.h"
#include "base/edit_distance.h"
#include "base/error.h"
#include "base/os.h"
#include "ep/cpu/cpu_provider.h"
#include "passes/pass.h"
#include "session/config_keys.h"

namespace trunnion::session {
namespace {

using Names = std::vector<std::string_view>;

// ONNX Runtime's optimizers that are not here, or that another of ours includes.
constexpr std::string_view kForeignOptimizers[] = {
    "ApplySelectorsAndActions",
    "AttentionFusion",
    "Avx2WeightS8ToU8Transformer",
    "BiasDropoutFusion",
    "BiasGeluFusion",
    "BiasSkipLayerNormFusion",
    "BiasSoftmaxFusion",
    "CastChainElimination",
    "CastFloat16Transformer",
    "ClipQuantRewrite",
    "ConvActivationFusion",
    "ConvAddActivationFusion",
    "ConvAddFusion",
    "ConvBNFusion",
    "ConvMulFusion",
    "DQMatMulNBitsFusion",
    "DivMulFusion",
    "DoubleQDQPairsRemover",
    "DynamicQuantizeMatMulFusion",
    "EmbedLayerNormFusion",
    "EnsureUniqueDQForNodeUnit",
    "FastGeluFusion",
    "FreeDimensionOverrideTransformer",
    "FuseFp16InitializerToFp32NodeTransformer",
    "FuseReluClip",
    "GatherSliceToSplitFusion",
    "GatherToSliceFusion",
    "GeluApproximation",
    "GeluFusionL1",
    "GeluFusionL2",
    "GemmActivationFusion",
    "GemmSumFusion",
    "GemmTransposeFusion",
    "GqaValueLayoutTransformer",
    "GroupQueryAttentionFusion",
    "GroupQueryAttentionPreNormFusion",
    "IdenticalChildrenConsolidation",
    "LabelEncoderFusion",
    "LayerNormFusionL1",
    "LayerNormFusionL2",
    "Level1_RuleBasedTransformer",
    "Level2_RuleBasedTransformer",
    "MatMulActivationFusion",
    "MatMulAddFusion",
    "MatMulIntegerToFloatFusion",
    "MatMulNBitsFusion",
    "MatMulNBitsMlpFusion",
    "MatMulNBitsQLoRAFusion",
    "MatMulNBitsQkvFusion",
    "MatMulScaleFusion",
    "MatMul_BatchNormalization_Fusion",
    "MatmulTransposeFusion",
    "NchwcTransformer",
    "NhwcTransformer",
    "NotWhereFusion",
    "Pad_Fusion",
    "PropagateCastOps",
    "QDQFinalCleanupTransformer",
    "QDQPropagationTransformer",
    "QDQS8ToU8Transformer",
    "QuickGeluFusion",
    "ReluQuantRewrite",
    "RemoveDuplicateCastTransformer",
    "STFTDecomposition",
    "SimplifiedLayerNormFusion",
    "SkipLayerNormFusion",
    "SliceConcatToSpaceToDepthFusion",
    "SwiGluFusion",
    "TransformerMemcpy",
    "TransposeOptimizer_CPUExecutionProvider",
    "UnsqueezeElimination",
    "WeightBiasQuantization",
    "WhereDummyDq",
};

constexpr std::string_view kRunKeys[] = {
    "memory.enable_memory_arena_shrinkage",
    "disable_synchronize_execution_providers",
    "gpu_graph_id",
    "qnn.htp_perf_mode",
    "qnn.htp_perf_mode_post_run",
    "qnn.rpc_control_latency",
    "qnn.lora_config",
};

// Programs give them to every provider that they list; their values are ONNX Runtime's all the same.
constexpr std::string_view kStrategies[] = {"kNextPowerOfTwo", "kSameAsRequested"};
constexpr std::string_view kSwitch[] = {"0", "1", "true", "false", "True", "False"};
struct ArenaKey {
  std::string_view key;
  std::span<const std::string_view> values;
};
constexpr ArenaKey kArenaKeys[] = {{"arena_extend_strategy", kStrategies}, {"use_arena", kSwitch}};

bool holds(const auto& list, std::string_view name) {
  return std::any_of(std::begin(list), std::end(list), [&](std::string_view one) { return one == name; });
}

// An error when strict, else a warning.
Status unknown(bool strict, const Logger& logger, const std::string& text) {
  if (strict) return invalid_argument("{}", text);
  TRN_LOG(logger, warning, "{}", text);
  return {};
}

bool is_strict(const Options& options) { return options.flag("session.strict_config"); }

Status check_severity(int level) {
  if (level >= -1 && level <= static_cast<int>(Severity::fatal)) return {};
  return error(Code::runtime_exception,
               "Invalid session log severity level. Not a valid onnxruntime::logging::Severity value: {} (0 verbose, 1 "
               "info, 2 warning, 3 error, 4 fatal; -1: the environment's)",
               level);
}

Status check_threads(const Options& options, const Logger& logger) {
  for (const auto& [name, count] : {std::pair("intra_op_num_threads", options.intra_op_threads),
                                    {"inter_op_num_threads", options.inter_op_threads}})
    if (count < -1)  // -1 is how many programs say "automatic"
      TRN_TRY(unknown(
          is_strict(options), logger,
          fmt::format("{} is {}: it counts as 0, the default, for there is no such number of threads", name, count)));
  return {};
}

// Whether some node is to be computed at level strict.
bool wants_strict(const Options& options) {
  const auto choice =
      PrecisionChoice::parse(options.entry("precision").value_or(""), options.entry("precision.nodes").value_or(""));
  return choice.ok() && choice->any(Precision::strict);
}

Status check_optimizers(const Options& options, const Logger& logger) {
  std::string_view rest = options.entry("optimization.disable_specified_optimizers").value_or("");
  if (rest.empty()) return {};
  const auto lowering = ep::cpu_pipeline(ep::Level::all);
  Names ours;
  for (const auto& pass : passes::clean()) ours.push_back(pass.name);
  for (const auto& pass : lowering) ours.push_back(pass.name);
  while (!rest.empty()) {
    const auto name = rest.substr(0, rest.find(';'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    if (name == "StrictMath" && wants_strict(options))
      return invalid_argument(
          "optimization.disable_specified_optimizers names 'StrictMath', which is what makes the precision strict: "
          "leave it there, or ask for another precision");
    if (name.empty() || holds(ours, name)) continue;
    if (holds(kForeignOptimizers, name)) {
      TRN_LOG(logger, info, "the optimizer '{}' is to be left out: this engine has none of that name", name);
      continue;
    }
    TRN_TRY(unknown(is_strict(options), logger,
                    fmt::format("the optimizer '{}' is to be left out, but there is none of that name{}", name,
                                did_you_mean(name, ours))));
  }
  return {};
}

Status check_environment(const Options& options, const Logger& logger) {
  const Names rungs{rung_name(Rung::baseline), rung_name(Rung::avx2), rung_name(Rung::avx512), "amx"};
  if (const auto text = os::environment("TRUNNION_CPU"); text && !text->empty() && !holds(rungs, *text))
    TRN_TRY(unknown(is_strict(options), logger,
                    fmt::format("the environment variable TRUNNION_CPU is '{}', which has no effect: it may be {}",
                                *text, fmt::join(rungs, ", "))));
  const auto text = os::environment("TRUNNION_NUM_THREADS");
  if (!text || text->empty()) return {};
  int count = 0;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), count);
  if (failed == std::errc() && end == text->data() + text->size() && count >= 1) return {};
  return unknown(is_strict(options), logger,
                 fmt::format("the environment variable TRUNNION_NUM_THREADS is '{}', which has no effect: it may be a "
                             "number from 1 on",
                             *text));
}

}  // namespace

Status check_options(const Options& options, const Logger& logger) {
  TRN_TRY(check_severity(options.log_severity));
  TRN_TRY(check_config(options.config, logger));
  TRN_TRY(check_threads(options, logger));
  TRN_TRY(check_optimizers(options, logger));
  TRN_TRY(check_environment(options, logger));
  for (const auto& choice : options.providers)
    for (const auto& [key, value] : choice.options) {
      if (choice.source) break;  // a plugin's own
      const auto* known = std::ranges::find(kArenaKeys, key, &ArenaKey::key);
      if (known != std::end(kArenaKeys)) {
        if (!holds(known->values, value))
          return invalid_argument("the option '{}' of {} may be {}, it is '{}'", key, choice.name,
                                  fmt::join(known->values, ", "), value);
        TRN_LOG(logger, info, "the option '{}' of {} has no effect", key, choice.name);
        continue;
      }
      TRN_TRY(unknown(is_strict(options), logger,
                      fmt::format("the option '{}' of {} has no effect: the provider has no options but {}", key,
                                  choice.name, "arena_extend_strategy and use_arena, which it accepts")));
    }
  for (const auto* overrides : {&options.dimension_by_name, &options.dimension_by_denotation})
    for (const auto& [name, size] : *overrides)
      if (size < 0) return invalid_argument("the free dimension '{}' is to be {}: a size is not negative", name, size);
  return {};
}

Status check_names(const Options& options, const ModelNames& names, const Logger& logger) {
  const auto check = [&](std::string_view name, const std::set<std::string, std::less<>>& known,
                         std::string_view what) -> Status {
    if (known.contains(name)) return {};
    return unknown(is_strict(options), logger,
                   fmt::format("the model has no {} '{}'{}: what is given for it has no effect", what, name,
                               did_you_mean(name, Names(known.begin(), known.end()))));
  };
  for (const auto& [name, size] : options.dimension_by_name) TRN_TRY(check(name, names.symbols, "free dimension"));
  for (const auto& [name, size] : options.dimension_by_denotation)
    TRN_TRY(check(name, names.denotations, "free dimension with the denotation"));
  for (const auto* map : {&options.initializers, &options.external_initializers})
    for (const auto& [name, value] : *map) TRN_TRY(check(name, names.initializers, "initializer"));
  return {};
}

Result<std::vector<std::string>> check_run_options(const RunOptions& options, bool strict,
                                                   std::set<std::string, std::less<>>& told) {
  if (options.log_severity < -1 || options.log_severity > static_cast<int>(Severity::fatal))
    return error(Code::fail,
                 "Invalid run log severity level. Not a valid onnxruntime::logging::Severity value: {} (0 verbose, 1 "
                 "info, 2 warning, 3 error, 4 fatal; -1: the session's)",
                 options.log_severity);
  std::vector<std::string> lines;
  for (const auto& [key, value] : options.config) {
    if (holds(kRunKeys, key) || config_key_kind(key) != KeyKind::unknown) continue;
    std::string text = fmt::format("unknown configuration entry '{}' of a run{}", key,
                                   did_you_mean(key, Names(std::begin(kRunKeys), std::end(kRunKeys))));
    if (strict) return invalid_argument("{}", text);
    if (told.insert(key).second) lines.push_back(std::move(text));
  }
  return lines;
}

}  // namespace trunnion::session
