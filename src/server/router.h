/// Router: method and path to a route. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "server/api_error.h"

namespace skald::server {

/// What this server has.
enum class Route : uint8_t {
  kChatCompletions,
  kCompletions,
  kEmbeddings,
  kRerank,
  kScore,
  kMessages,
  kCountTokens,
  kResponses,
  kInfill,
  kOllamaChat,
  kOllamaGenerate,
  kOllamaEmbed,
  kOllamaEmbeddings,
  kOllamaShow,
  kOllamaTags,
  kOllamaPs,
  kOllamaVersion,
  kModels,
  kModel,  ///< /v1/models/{id}
  kTokenize,
  kDetokenize,
  kHealth,
  kLive,
  kReady,
  kMetrics,
  kVersion,
  kProps,
  kSlots,
  kOpenApi,
  kRoot,
  kConsole,
  kConsoleStyle,
  kConsoleScript,
  kConsoleFigures,
  kConsoleChat,
  kConsoleIcon,
  kConsoleEvents,
};

/// True if the route takes a body: POST. All others take GET and HEAD.
bool TakesBody(Route route);

/// True if what it tells concerns all tenants.
bool IsForAdmins(Route route);

/// True if it tells how the server is, and nothing of its model or of a text: what the door for
/// administrators has.
bool IsForMonitors(Route route);

/// True if what is there is the same for everybody: files of the program.
bool IsForEveryone(std::string_view path);

/// The route. Paths are compared as they are: nothing is decoded or normalised, so nothing can be
/// smuggled past a proxy's rules. Errors: 404; 405 for another method;
/// 400 for what Ollama has beside its model, which this server does not do.
OrError<Route> FindRoute(std::string_view method, std::string_view path);

/// In which form errors are told to who asks for this path, be there a route or not.
ErrorForm ErrorFormOf(std::string_view path);

/// Of a kModel path: the id.
std::string_view ModelIdOf(std::string_view path);

}  // namespace skald::server
