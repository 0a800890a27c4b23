/// The files of a repository: what the hub's answer says, and which of them are the model that is
/// meant.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skald/status.h"

namespace skald::hub {

/// A file as the hub lists it.
struct ListedFile {
  std::string path = {};
  std::string blob = {};    ///< what the hub calls its bytes: their SHA-256, or git's hash of them
  std::string sha256 = {};  ///< empty for small files, which have git's hash only
  int64_t bytes = 0;
};

/// Whether `text` is a hash of so many hexadecimal digits, as git and the hub write them.
bool IsHash(std::string_view text, size_t digits);

/// Reads a page of the answer to ".../tree/REVISION?recursive=true" and appends its files. Errors:
/// kUnavailable for anything that is not such a list: the other side is not a hub.
Status AppendFileList(std::string_view json, std::vector<ListedFile>* files);

/// Reads the commit out of the answer to ".../revision/REVISION". Errors: as AppendFileList.
Result<std::string> ReadCommit(std::string_view json);

/// The parts of the one model that `choice` means, in order:
///  * a path that is in the list: that file;
///  * else a quantization ("q4_k_m", in any case): the model whose path has that word; of several
///    the one with the shortest path;
///  * "": Q4_K_M, else Q8_0, else the first by name. Those are llama.cpp's rules.
/// Files that are no model of their own (mmproj, imatrix) count only where they are named in full.
/// Errors: kNotFound with the choices there are; kUnsupported if there is no GGUF file.
Result<std::vector<ListedFile>> ChooseModel(const std::vector<ListedFile>& files,
                                            std::string_view choice);

/// "Q4_K_M" out of "name-Q4_K_M.gguf"; "" if the path has no such word.
std::string QuantizationOf(std::string_view path);

}  // namespace skald::hub
