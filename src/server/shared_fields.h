/// Shared fields: what the bodies of all APIs that generate have, by the same names and rules, and
/// what each ends with.
#pragma once

#include <boost/json/array.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/fields.h"
#include "server/generation_request.h"

namespace skald::server {

/// What an API takes for a field that is not there. OpenAI's: no filters, no penalties.
struct SamplingDefaults {
  double temperature = 1;
  double top_p = 1;
  int32_t top_k = 0;
  double repetition = 1;
  double min_p = 0;
};

/// temperature, filters and penalties.
void ReadSampling(Fields& fields, SamplingParams& params, const SamplingDefaults& defaults = {});

/// The samplers beside these: DRY, XTC, top-n-sigma, dynamic temperature, Mirostat. Settings of one
/// that is off are known and not looked at: clients send their whole window of them.
void ReadSamplers(Fields& fields, GenerationRequest& request);

/// A string or an array of strings, at most kMaxStopStrings.
std::vector<std::string> ReadStopStrings(Fields& fields, std::string_view name);

/// model, logit_bias, seed, stop_token_ids, ignore_eos, min_tokens, priority, cache_salt.
void ReadSharedFields(Fields& fields, GenerationRequest& request);

/// Reads the members of the object field `name` by `read`, if it is there. What `read` has not
/// asked for is named as ignored, unless it says no.
void ReadMembers(Fields& fields, GenerationRequest& request, std::string_view name,
                 const std::function<void(Fields& members)>& read);

/// Fails if more tokens are wanted at least than at most.
void CheckMinTokens(Fields& fields, const StopRules& stop);

/// The request with the names nobody asked for, or the first error.
OrError<GenerationRequest> FinishReading(Fields& fields, GenerationRequest request);

/// Appends the ids of `list`. False if one of them is no token id of any vocabulary.
bool ReadTokenIds(const boost::json::array& list, std::vector<TokenId>& tokens);

}  // namespace skald::server
