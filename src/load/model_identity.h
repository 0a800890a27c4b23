/// ModelIdentity: a number that says which model a file holds, for people who compare answers.
///
/// It is made of the file's keys, the tables of its tensors, and the first, middle and last 4 KiB
/// of each tensor's weights: another training, another quantization, another template or vocabulary
/// gives another number. Not a checksum: a single weight that was changed by hand can go unnoticed,
/// and who wants two files of one number can make them.
#pragma once

#include <cstdint>

#include "formats/model_file.h"
#include "skald/status.h"

namespace skald::load {

/// See above. The same on every machine. Errors: kIo. Cost: 12 KiB read for each tensor.
Result<uint64_t> ModelIdentity(const formats::ModelFile& file);

}  // namespace skald::load
