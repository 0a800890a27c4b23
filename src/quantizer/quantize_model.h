/// The work behind skald/quantize.h, on a file that is open.
#pragma once

#include "formats/gguf.h"
#include "skald/quantize.h"

namespace skald::quantizer {

/// As QuantizeModel.
Result<QuantizeReport> QuantizeFile(const formats::GgufModel& file, const QuantizeOptions& options,
                                    const ByteSink& sink);

}  // namespace skald::quantizer
