#include "engine/bench_work.h"

#include <algorithm>

#include "model/transformer.h"

namespace skald::engine {

model::StepWork WorkOf(const model::Network& network, const CaseShape& shape,
                       const BenchCase& wanted) {
  model::StepWork work;
  const int64_t prompt_end = wanted.depth + wanted.prompt_tokens;
  for (int64_t position = wanted.depth; position < prompt_end; position += shape.max_chunk) {
    const int64_t count = std::min(shape.max_chunk, prompt_end - position);
    const int64_t logits = position + count == prompt_end ? 1 : 0;
    for (int64_t s = 0; s < wanted.batch; ++s) {
      model::AddWork(network, shape.layout,
                     {.rows = count, .first_position = position, .logit_rows = logits}, work);
    }
  }
  for (int64_t step = 0; step < wanted.decode_tokens; ++step) {
    model::AddWork(network, shape.layout,
                   {.rows = wanted.batch,
                    .sequences = wanted.batch,
                    .first_position = prompt_end + step,
                    .logit_rows = wanted.batch},
                   work);
  }
  return work;
}

BenchWork PublicWork(const model::Work& work) {
  return {.int8_macs = work.int8_macs,
          .bfloat16_macs = work.bfloat16_macs,
          .float_macs = work.float_macs,
          .bytes = work.bytes};
}

}  // namespace skald::engine
