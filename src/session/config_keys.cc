#include "session/config_keys.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/edit_distance.h"
#include "base/error.h"

namespace trunnion::session {
namespace {

enum class Check : uint8_t { any, flag, natural, text };

struct Row {
  std::string_view key;
  KeyKind kind;
  Check check = Check::any;
};
constexpr KeyKind kOurs = KeyKind::ours, kAccepted = KeyKind::accepted;

// Names from ONNX Runtime's session configuration; those marked ours have an effect (or are what we always do).
constexpr Row kRows[] = {
    {"session.strict_config", kOurs, Check::flag},
    {"precision", kOurs, Check::text},
    {"precision.nodes", kOurs, Check::text},
    {"session.random_seed", kOurs, Check::natural},
    {"session.cache_dir", kOurs, Check::text},
    {"session.cache_max_bytes", kOurs, Check::natural},
    {"session.cache_wait_seconds", kOurs, Check::natural},
    {"session.map_model", kOurs, Check::flag},
    {"session.disable_prepacking", kOurs, Check::flag},
    {"session.disable_cpu_ep_fallback", kOurs, Check::flag},
    {"session.strict_placement", kOurs, Check::flag},
    {"session.placement", kOurs, Check::text},
    {"session.placement_costs", kOurs, Check::text},
    {"session.intra_op.allow_spinning", kOurs, Check::flag},
    {"session.intra_op_thread_affinities", kOurs, Check::text},
    {"session.model_external_initializers_file_folder_path", kOurs, Check::text},
    {"session.optimized_model_external_initializers_file_name", kOurs, Check::text},
    {"session.optimized_model_external_initializers_min_size_in_bytes", kOurs, Check::natural},
    {"session.strict_shape_type_inference", kOurs, Check::flag},
    {"session.function_expansion_node_limit", kOurs, Check::natural},
    {"optimization.disable_specified_optimizers", kOurs, Check::text},
    {"optimization.constant_folding_max_output_size_in_bytes", kOurs, Check::natural},
    {"session.load_model_format", kOurs, Check::text},
    {"session.save_model_format", kOurs, Check::text},
    {"session.graph_optimizations_loop_level", kOurs, Check::natural},
    {"session.disable_quant_qdq", kOurs, Check::flag},
    {"session.record_ep_graph_assignment_info", kOurs, Check::flag},

    {"session.use_env_allocators", kAccepted},
    {"session.set_denormal_as_zero", kOurs, Check::flag},
    {"session.disable_double_qdq_remover", kAccepted},
    {"session.enable_quant_qdq_cleanup", kAccepted},
    {"session.disable_qdq_constant_folding", kAccepted},
    {"optimization.enable_gelu_approximation", kAccepted},
    {"optimization.enable_cast_chain_elimination", kAccepted},
    {"optimization.minimal_build_optimizations", kAccepted},
    {"session.disable_aot_function_inlining", kAccepted},
    {"session.use_device_allocator_for_initializers", kAccepted},
    {"session.inter_op.allow_spinning", kAccepted},
    {"session.intra_op.spin_duration_us", kAccepted},
    {"session.inter_op.spin_duration_us", kAccepted},
    {"session.intra_op.spin_backoff_max", kAccepted},
    {"session.inter_op.spin_backoff_max", kAccepted},
    {"session.force_spinning_stop", kAccepted},
    {"session.dynamic_block_base", kAccepted},
    {"session.use_ort_model_bytes_directly", kAccepted},
    {"session.use_ort_model_bytes_for_initializers", kAccepted},
    {"session.use_memory_mapped_ort_model", kAccepted},
    {"session.qdqisint8allowed", kAccepted},
    {"session.x64quantprecision", kAccepted},
    {"session.allow_released_opsets_only", kAccepted},
    {"session.save_external_prepacked_constant_initializers", kAccepted},
    {"session.use_external_initializer_file_buffers_directly", kAccepted},
    {"session.collect_node_memory_stats_to_file", kAccepted},
    {"session.resource_cuda_partitioning_settings", kAccepted},
    {"session.layer_assignment_settings", kAccepted},
    {"session.name_based_layer_assignment", kAccepted},
    {"session.node_partition_config_file", kAccepted},
    {"session.debug_layout_transformation", kAccepted},
    {"session.qdq_matmulnbits_accuracy_level", kAccepted},
    {"session.qdq_matmulnbits_block_size", kAccepted},
    {"session.enable_dq_matmulnbits_fusion", kAccepted},
    {"session.prepack.enable_parallel", kAccepted},
    {"mlas.enable_gemm_fastmath_arm64_bfloat16", kAccepted},
    {"mlas.use_lut_gemm", kAccepted},
    {"mlas.disable_kleidiai", kAccepted},
    {"mlas.qnbit.force_fp32", kAccepted},
    {"mlas.nchwc_depthwise_sliding", kAccepted},
    {"mlas.nchwc_pointwise_conv_max_input_channel_batch", kAccepted},
    {"mlas.kleidiai.conv_igemm_max_work", kAccepted},
    {"ep.context_enable", kOurs, Check::any},
    {"ep.context_file_path", kOurs, Check::any},
    {"ep.context_embed_mode", kOurs, Check::any},
    {"ep.context_node_name_prefix", kAccepted},
    {"ep.share_ep_contexts", kAccepted},
    {"ep.stop_share_ep_contexts", kAccepted},
    {"ep.context_model_external_initializers_file_name", kAccepted},
    {"ep.context_source_model_path", kAccepted},
    {"ep.enable_weightless_mode", kAccepted},
    {"ep.enable_weightless", kAccepted},
    {"ep.enable_weightless_ep_context_nodes", kAccepted},
    {"session.disable_model_compile", kAccepted},
    {"session.compile_only", kAccepted},
    {"session.fail_on_suboptimal_compiled_model", kAccepted},
    {"ep.nnapi.partitioning_stop_ops", kAccepted},
    {"session.max_shape_override", kAccepted},
    {"session.strict_workspace_verification", kAccepted},
    {"session.kernel_dispatch_policy", kAccepted},
    {"session.external_data_loader.threads", kAccepted},
    {"session.external_data_loader.chunk_bytes", kAccepted},
    {"session.external_data_loader.min_size_bytes", kAccepted},
    {"session.external_data_loader.pinned_memory_bytes", kAccepted},
    {"session.function_expansion_byte_limit", kAccepted},
    {"session.gqa_value_layout", kAccepted},
    {"session.enable_moe_expert_counting", kAccepted},
    {"session.enable_moe_expert_statistics", kAccepted},
    {"session.moe_expert_counter_alpha", kAccepted},
    {"session.moe_expert_counter_beta", kAccepted},
    {"session.moe_expert_counter_state_file", kAccepted},
    {"optimization.memory_optimizer_config", kAccepted},
    {"optimization.enable_memory_probe_recompute_config", kAccepted},
    {"session.intra_op_num_threads", kAccepted},
    {"session.inter_op_num_threads", kAccepted},
    {"session.execution_mode", kAccepted},
    {"session.log_id", kAccepted},
    {"session.optimized_model_filepath", kAccepted},
    {"session.graph_optimization_level", kAccepted},
    {"session.enable_profiling", kAccepted},
    {"session.enable_cpu_mem_arena", kAccepted},
    {"session.enable_mem_pattern", kAccepted},
    {"session.log_severity_level", kAccepted},
    {"session.log_verbosity_level", kAccepted},
    {"session.use_deterministic_compute", kAccepted},
    {"session.use_per_session_threads", kAccepted},
    {"session.enable_saved_runtime_optimizations", kAccepted},
    {"allow_virtual_devices", kAccepted},
};

// Families whose members are made of names that only providers know.
constexpr std::string_view kPrefixes[] = {"ep.", "session.moe.offload."};

const Row* find(std::string_view key) {
  for (const auto& r : kRows)
    if (r.key == key) return &r;
  return nullptr;
}

}  // namespace

KeyKind config_key_kind(std::string_view key) {
  if (const Row* r = find(key)) return r->kind;
  for (auto prefix : kPrefixes)
    if (key.starts_with(prefix)) return KeyKind::accepted;
  return KeyKind::unknown;
}

Status check_config(const ConfigMap& config, const Logger& logger) {
  const auto strict = config.find("session.strict_config");
  const bool is_strict = strict != config.end() && strict->second == "1";
  for (const auto& [key, value] : config) {
    const Row* row = find(key);
    if (row && row->kind == KeyKind::ours) {
      if (row->check == Check::flag && value != "0" && value != "1")
        return invalid_argument("configuration entry '{}' must be 0 or 1, it is '{}'", key, value);
      if (row->check == Check::natural) {
        int64_t n = -1;
        const auto r = std::from_chars(value.data(), value.data() + value.size(), n);
        if (r.ec != std::errc() || r.ptr != value.data() + value.size() || n < 0)
          return invalid_argument("configuration entry '{}' must be a number >= 0, it is '{}'", key, value);
      }
      continue;
    }
    if (config_key_kind(key) == KeyKind::accepted) {
      TRN_LOG(logger, info, "configuration entry '{}' has no effect in this engine", key);
      continue;
    }
    std::vector<std::string_view> names;
    for (const auto& r : kRows) names.push_back(r.key);
    const std::string hint = did_you_mean(key, names);
    if (is_strict) return invalid_argument("unknown configuration entry '{}'{}", key, hint);
    TRN_LOG(logger, warning, "unknown configuration entry '{}'{}", key, hint);
  }
  return {};
}

}  // namespace trunnion::session
