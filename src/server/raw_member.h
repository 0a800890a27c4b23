/// RawMember: a member of a JSON object as it was written.
#pragma once

#include <string_view>
#include <vector>

namespace skald::server {

/// The text of the member `name` of `object`, without white space around it. Requires that the text
/// is valid JSON of an object without names that stand twice (json_reader.h). Empty if there is no
/// such member. Linear, without recursion.
std::string_view RawMember(std::string_view object, std::string_view name);

/// The texts of the elements of `array`, in the same way; none if it is no array.
std::vector<std::string_view> RawElements(std::string_view array);

}  // namespace skald::server
