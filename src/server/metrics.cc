#include "server/metrics.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

namespace skald::server {

namespace {

// A value of a label: what Prometheus's text format escapes is escaped.
std::string LabelValue(std::string_view text) {
  std::string value;
  for (const char c : text) {
    if (c == '\\' || c == '"') value += '\\';
    if (c == '\n')
      value += "\\n";
    else
      value += c;
  }
  return value;
}

// Writes one family after the other: the lines of a family must stand together.
class Writer {
 public:
  // `labels` are of every sample.
  explicit Writer(std::string labels) : labels_(std::move(labels)) {}

  void Gauge(std::string_view name, std::string_view help, double value) {
    Head(name, help, "gauge");
    Sample(name, {}, value);
  }
  void Counter(std::string_view name, std::string_view help, int64_t value) {
    Head(name, help, "counter");
    Sample(name, {}, static_cast<double>(value));
  }
  void Head(std::string_view name, std::string_view help, std::string_view type) {
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  void Sample(std::string_view name, std::string_view labels, double value) {
    out_ +=
        fmt::format("{}{{{}{}{}}} {}\n", name, labels_, labels.empty() ? "" : ",", labels, value);
  }
  void Times(std::string_view name, std::string_view help, const Histogram& histogram);

  std::string Take() { return std::move(out_); }

 private:
  std::string labels_;
  std::string out_;
};

void Writer::Times(std::string_view name, std::string_view help, const Histogram& histogram) {
  Head(name, help, "histogram");
  const std::string bucket = fmt::format("{}_bucket", name);
  int64_t below = 0;
  for (int i = 0; i + 1 < Histogram::kBuckets; ++i) {
    below += histogram.bucket(i);
    // Every other bound: a factor of 1.58 is fine enough for a dashboard.
    if (i % 2 == 0)
      Sample(bucket, fmt::format("le=\"{:.6g}\"", Histogram::UpperBound(i)),
             static_cast<double>(below));
  }
  Sample(bucket, "le=\"+Inf\"", static_cast<double>(histogram.count()));
  Sample(fmt::format("{}_sum", name), {}, histogram.sum_seconds());
  Sample(fmt::format("{}_count", name), {}, static_cast<double>(histogram.count()));
}

int64_t FinishedFor(const EngineStats& stats, FinishReason reason) {
  return stats.finished[static_cast<size_t>(reason)];
}

void WriteFinished(const EngineStats& stats, Writer& out) {
  constexpr std::string_view kName = "skald_requests_finished_total";
  out.Head(kName, "Requests that have ended, by reason.", "counter");
  for (int i = 0; i < kFinishReasonCount; ++i) {
    const auto reason = static_cast<FinishReason>(i);
    out.Sample(kName, fmt::format("reason=\"{}\"", FinishReasonName(reason)),
               static_cast<double>(FinishedFor(stats, reason)));
  }
}

// The same by vLLM's words.
void WriteSuccess(const EngineStats& stats, Writer& out) {
  constexpr std::string_view kName = "vllm:request_success_total";
  out.Head(kName, "Requests that have ended, by reason.", "counter");
  const auto sample = [&](std::string_view reason, int64_t count) {
    out.Sample(kName, fmt::format("finished_reason=\"{}\"", reason), static_cast<double>(count));
  };
  sample("stop", FinishedFor(stats, FinishReason::kStop));
  sample("length",
         FinishedFor(stats, FinishReason::kLength) + FinishedFor(stats, FinishReason::kContext));
  sample("abort", FinishedFor(stats, FinishReason::kCancelled) +
                      FinishedFor(stats, FinishReason::kDeadline));
  sample("error", FinishedFor(stats, FinishReason::kError));
}

double Share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

void WriteDisk(const EngineStats& stats, Writer& out) {
  const auto gauge = [&](std::string_view name, std::string_view help, int64_t value) {
    out.Gauge(name, help, static_cast<double>(value));
  };
  gauge("skald_disk_pages", "Pages that the cache on disk can give.", stats.disk_pages);
  gauge("skald_disk_bytes", "Bytes of its files.", stats.disk_bytes);
  gauge("skald_disk_bytes_limit", "Bytes that these may have (--cache-disk).",
        stats.disk_bytes_limit);
  gauge("skald_disk_writes",
        "1 while pages are written: 0 without one, or if it is full or broken.",
        int64_t{stats.disk_writes});
  out.Counter("skald_disk_pages_written_total", "Pages written to it.", stats.disk_pages_written);
  out.Counter("skald_disk_pages_restored_total", "Pages put back into memory.",
              stats.disk_pages_restored);
  out.Counter("skald_disk_pages_damaged_total", "Pages found altered, and computed instead.",
              stats.disk_pages_damaged);
  out.Counter("skald_disk_pages_lost_total", "Pages evicted while too many waited to be written.",
              stats.disk_pages_lost);
}

void WriteOwn(const MetricsInput& input, Writer& out) {
  const EngineStats& stats = input.stats;
  const auto gauge = [&](std::string_view name, std::string_view help, int64_t value) {
    out.Gauge(name, help, static_cast<double>(value));
  };
  out.Counter("skald_requests_submitted_total", "Requests the engine took.", stats.submitted);
  out.Counter("skald_requests_refused_total", "Requests the engine refused.", stats.refused);
  WriteFinished(stats, out);
  out.Counter("skald_prompt_tokens_total", "Tokens of admitted prompts.", stats.prompt_tokens);
  out.Counter("skald_prompt_tokens_cached_total", "Of these, found in the prefix tree.",
              stats.prompt_tokens_cached);
  out.Counter("skald_prompt_tokens_disk_total", "Of these, brought back from the cache on disk.",
              stats.prompt_tokens_disk);
  out.Counter("skald_prefill_rows_total", "Prompt rows computed.", stats.prefill_rows);
  out.Counter("skald_output_tokens_total", "Tokens generated.", stats.output_tokens);
  out.Counter("skald_masks_total", "Masks of constrained answers made.", stats.masks);
  out.Counter("skald_masks_awaited_total", "Masks begun beside the steps: they take long.",
              stats.masks_awaited);
  out.Counter("skald_steps_total", "Steps of the engine.", stats.steps);
  out.Counter("skald_rows_total", "Rows of all steps.", stats.rows);
  out.Counter("skald_preemptions_total", "Sequences that lost their pages.", stats.preemptions);
  out.Counter("skald_pages_copied_total", "Shared pages copied to be written.", stats.pages_copied);
  out.Counter("skald_pages_evicted_total", "Pages evicted from the prefix tree.",
              stats.pages_evicted);
  out.Counter("skald_window_pages_dropped_total",
              "Window pages taken from pages of the prefix tree.", stats.window_pages_dropped);
  out.Counter("skald_states_copied_total", "States of recurrent layers copied.",
              stats.states_copied);
  out.Counter("skald_states_evicted_total", "Snapshots of states evicted from the prefix tree.",
              stats.states_evicted);
  gauge("skald_sequences_running", "Sequences with pages.", stats.running);
  gauge("skald_sequences_waiting", "Sequences without.", stats.waiting);
  gauge("skald_pages", "Pages of KV in all.", stats.pages_total);
  gauge("skald_pages_free", "Pages that nothing uses.", stats.pages_free);
  gauge("skald_pages_held", "Pages of running sequences.", stats.pages_held);
  gauge("skald_pages_cached", "Pages of the prefix tree alone.", stats.pages_cached);
  gauge("skald_window_pages", "Pages of layers with windows, where these are fewer, in all.",
        stats.window_pages_total);
  gauge("skald_window_pages_free", "Window pages that nothing uses.", stats.window_pages_free);
  gauge("skald_window_pages_held", "Window pages that running sequences see.",
        stats.window_pages_held);
  gauge("skald_window_pages_cached", "Window pages of the prefix tree alone.",
        stats.window_pages_cached);
  gauge("skald_states", "Slots for states of recurrent layers in all.", stats.states_total);
  gauge("skald_states_free", "Slots that nothing uses.", stats.states_free);
  gauge("skald_states_held", "Slots of running sequences.", stats.states_held);
  gauge("skald_states_cached", "Snapshots of states in the prefix tree.", stats.states_cached);
  WriteDisk(stats, out);
  gauge("skald_connections", "Open connections.", input.connections);
  int64_t answers = 0;
  for (const auto& [status, count] : input.answers) answers += count;
  out.Counter("skald_http_requests_total", "Requests answered.", answers);
  out.Head("skald_http_answers_total", "Answers, by status.", "counter");
  for (const auto& [status, count] : input.answers)
    out.Sample("skald_http_answers_total", fmt::format("status=\"{}\"", status),
               static_cast<double>(count));
  out.Times("skald_queue_seconds", "From submission to admission.", stats.queue_seconds);
  out.Times("skald_time_to_first_token_seconds", "From submission to the first token.",
            stats.ttft_seconds);
  out.Times("skald_time_between_tokens_seconds", "Between two tokens of a sequence.",
            stats.tbt_seconds);
  out.Times("skald_step_seconds", "Time of a step.", stats.step_seconds);
  out.Times("skald_request_seconds", "From submission to the end, of what was not cut off.",
            stats.e2e_seconds);
  out.Times("skald_inference_seconds", "From admission to the end.", stats.inference_seconds);
  out.Times("skald_prefill_seconds", "From admission to the first token.", stats.prefill_seconds);
  out.Times("skald_decode_seconds", "From the first token to the end.", stats.decode_seconds);
}

void WriteVllm(const MetricsInput& input, Writer& out) {
  const EngineStats& stats = input.stats;
  const double usage = Share(stats.pages_held, stats.pages_total);
  out.Gauge("vllm:num_requests_running", "Sequences with pages.",
            static_cast<double>(stats.running));
  out.Gauge("vllm:num_requests_waiting", "Sequences without pages.",
            static_cast<double>(stats.waiting));
  for (const std::string_view name : {"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"})
    out.Gauge(name, "Share of the pages that running sequences hold, 0 to 1.", usage);
  for (const std::string_view prefix : {"vllm:prefix_cache", "vllm:gpu_prefix_cache"}) {
    out.Counter(fmt::format("{}_queries_total", prefix), "Tokens of admitted prompts.",
                stats.prompt_tokens);
    out.Counter(fmt::format("{}_hits_total", prefix), "Of these, found in the prefix tree.",
                stats.prompt_tokens_cached);
  }
  out.Head("vllm:cache_config_info", "Size of the cache.", "gauge");
  out.Sample("vllm:cache_config_info",
             fmt::format("block_size=\"32\",num_gpu_blocks=\"{}\"", stats.pages_total), 1);
  out.Counter("vllm:prompt_tokens_total", "Tokens of admitted prompts.", stats.prompt_tokens);
  out.Counter("vllm:generation_tokens_total", "Tokens generated.", stats.output_tokens);
  out.Counter("vllm:spec_decode_num_draft_tokens_total", "Tokens guessed ahead and checked.",
              stats.draft_tokens);
  out.Counter("vllm:spec_decode_num_accepted_tokens_total", "Of these, kept.",
              stats.draft_tokens_accepted);
  out.Counter("vllm:num_preemptions_total", "Sequences that lost their pages.", stats.preemptions);
  WriteSuccess(stats, out);
  out.Times("vllm:time_to_first_token_seconds", "From submission to the first token.",
            stats.ttft_seconds);
  for (const std::string_view name :
       {"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"})
    out.Times(name, "Between two tokens of a sequence.", stats.tbt_seconds);
  out.Times("vllm:e2e_request_latency_seconds", "From submission to the end.", stats.e2e_seconds);
  out.Times("vllm:request_queue_time_seconds", "From submission to admission.",
            stats.queue_seconds);
  out.Times("vllm:request_inference_time_seconds", "From admission to the end.",
            stats.inference_seconds);
  out.Times("vllm:request_prefill_time_seconds", "From admission to the first token.",
            stats.prefill_seconds);
  out.Times("vllm:request_decode_time_seconds", "From the first token to the end.",
            stats.decode_seconds);
}

}  // namespace

std::string MetricsText(const MetricsInput& input) {
  const std::string model = fmt::format("model_name=\"{}\"", LabelValue(input.model_name));
  Writer own(model);
  WriteOwn(input, own);
  // vLLM numbers its engines; here there is one.
  Writer vllm(model + ",engine=\"0\"");
  WriteVllm(input, vllm);
  return own.Take() + vllm.Take();
}

}  // namespace skald::server
