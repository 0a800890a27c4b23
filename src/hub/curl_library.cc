#include "hub/curl_library.h"

#include <dlfcn.h>

#include <string>

namespace skald::hub {
namespace {

Status NoLibrary(const std::string& reason) {
  return Status(ErrorCode::kUnavailable,
                "fetching needs libcurl (apt-get install libcurl4): " + reason);
}

}  // namespace

Result<CurlLibrary> CurlLibrary::Load() {
  CurlLibrary library;
  // The name that libcurl has had since 2006; the GnuTLS build of it has the same functions.
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    // Never unloaded: OpenSSL's handlers at exit would point into nothing.
    library.handle_ = std::shared_ptr<void>(handle, [](void*) {});
    break;
  }
  if (library.handle_ == nullptr) {
    const char* reason = dlerror();
    return NoLibrary(reason == nullptr ? "it is not there" : reason);
  }
  std::string missing;
  const auto find = [&](const char* name, auto* function) {
    void* symbol = dlsym(library.handle_.get(), name);
    if (symbol == nullptr) missing = name;
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(symbol);
  };
  find("curl_easy_init", &library.easy_init);
  find("curl_easy_cleanup", &library.easy_cleanup);
  find("curl_easy_setopt", &library.easy_setopt);
  find("curl_easy_getinfo", &library.easy_getinfo);
  find("curl_easy_strerror", &library.easy_strerror);
  find("curl_multi_init", &library.multi_init);
  find("curl_multi_cleanup", &library.multi_cleanup);
  find("curl_multi_add_handle", &library.multi_add_handle);
  find("curl_multi_remove_handle", &library.multi_remove_handle);
  find("curl_multi_perform", &library.multi_perform);
  find("curl_multi_poll", &library.multi_poll);
  find("curl_multi_info_read", &library.multi_info_read);
  find("curl_slist_append", &library.slist_append);
  find("curl_slist_free_all", &library.slist_free_all);
  if (!missing.empty()) return NoLibrary("it has no " + missing);
  return library;
}

}  // namespace skald::hub
