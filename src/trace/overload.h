/// Overload: one function object of several, for std::visit over a TraceBody.
#pragma once

namespace skald::trace {

template <typename... Functions>
struct Overload : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overload(Functions...) -> Overload<Functions...>;

}  // namespace skald::trace
