/// FunctionRef: a non-owning reference to something callable, as cheap as a pointer pair.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace skald {

template <typename Signature>
class FunctionRef;

/// Refers to a callable that outlives the call it is passed to (pass by value, never store). Unlike
/// std::function it never allocates, which a step of the engine must not do.
template <typename R, typename... Args>
class FunctionRef<R(Args...)> {
 public:
  template <typename F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef>) FunctionRef(  // NOLINT
      F&& function)  // implicit: a lambda is passed as an argument
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace skald
