/// CurlLibrary: libcurl, found when something is to be fetched.
///
/// The command does not link it: libcurl brings thirty libraries (Kerberos, LDAP, SSH) that a
/// server in its sandbox, or a run of a model that is there, neither needs nor waits for
/// (docs/decisions/0013-pulling-models.md).
#pragma once

#include <curl/curl.h>

#include <memory>

#include "skald/status.h"

namespace skald::hub {

/// The functions in use, by their names without "curl_". Valid as long as it lives.
struct CurlLibrary {
  /// Errors: kUnavailable with the package to install.
  static Result<CurlLibrary> Load();

  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_multi_init) multi_init = nullptr;
  decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&curl_multi_perform) multi_perform = nullptr;
  decltype(&curl_multi_poll) multi_poll = nullptr;
  decltype(&curl_multi_info_read) multi_info_read = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;

 private:
  std::shared_ptr<void> handle_ = nullptr;  // of dlopen
};

}  // namespace skald::hub
