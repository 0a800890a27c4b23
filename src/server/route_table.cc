#include "server/route_table.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace skald::server {

namespace {

constexpr std::string_view kEvents = "text/event-stream";
constexpr std::string_view kLines = "application/x-ndjson";

using enum RouteBody;

constexpr auto kTable = std::to_array<RouteRow>({
    {"/v1/chat/completions", Route::kChatCompletions, kJson, "The next message of a conversation",
     "ChatRequest", "ChatCompletion", kEvents},
    {"/v1/completions", Route::kCompletions, kJson, "Text from a prompt", "CompletionRequest",
     "Completion", kEvents},
    {"/v1/embeddings", Route::kEmbeddings, kJson, "Vectors of texts", "EmbeddingRequest",
     "EmbeddingList"},
    {"/v1/rerank", Route::kRerank, kJson, "Documents by relevance to a query", "RerankRequest",
     "Ranking"},
    {"/v2/rerank", Route::kRerank, kJson, "As /v1/rerank", "RerankRequest", "Ranking"},
    {"/rerank", Route::kRerank, kJson, "As /v1/rerank", "RerankRequest", "Ranking"},
    {"/v1/score", Route::kScore, kJson, "How relevant one text is to another", "ScoreRequest",
     "ScoreList"},
    {"/score", Route::kScore, kJson, "As /v1/score", "ScoreRequest", "ScoreList"},
    {"/v1/responses", Route::kResponses, kJson, "OpenAI's Responses", "ResponsesRequest",
     "Response", kEvents},
    {"/v1/messages", Route::kMessages, kJson, "Anthropic's Messages", "MessagesRequest", "Message",
     kEvents},
    {"/v1/messages/count_tokens", Route::kCountTokens, kJson, "Tokens of a message's prompt",
     "CountTokensRequest", "TokenCount"},
    {"/v1/models", Route::kModels, kNone, "The model", {}, "ModelList"},
    {"/v1/models/{id}", Route::kModel, kNone, "The model, by its name", {}, "Model"},
    {"/infill", Route::kInfill, kJson, "Text for a gap, as llama.cpp's editors ask for it",
     "InfillRequest", "Infill", kEvents},
    {"/api/chat", Route::kOllamaChat, kJson, "Ollama's chat", "OllamaChatRequest", "OllamaChat",
     kLines},
    {"/api/generate", Route::kOllamaGenerate, kJson, "Ollama's generate", "OllamaGenerateRequest",
     "OllamaGenerated", kLines},
    {"/api/embed", Route::kOllamaEmbed, kJson, "Vectors of texts, as Ollama gives them",
     "OllamaEmbedRequest", "OllamaVectors"},
    {"/api/embeddings", Route::kOllamaEmbeddings, kJson, "The vector of a text, as Ollama gave it",
     "OllamaEmbeddingsRequest", "OllamaVector"},
    {"/api/show", Route::kOllamaShow, kJson, "Details of the model", "OllamaShowRequest",
     "OllamaDetails"},
    {"/api/tags", Route::kOllamaTags, kNone, "The model, as a list", {}, "OllamaModels"},
    {"/api/ps", Route::kOllamaPs, kNone, "What is loaded: the model", {}, "OllamaModels"},
    {"/api/version", Route::kOllamaVersion, kNone, "The server's version", {}, "Version"},
    {"/tokenize", Route::kTokenize, kJson, "Tokens of a text", "TokenizeRequest", "Tokens"},
    {"/detokenize", Route::kDetokenize, kJson, "Text of tokens", "DetokenizeRequest", "Text"},
    {.path = "/health",
     .route = Route::kHealth,
     .body = kNone,
     .summary = "Whether a request would be taken",
     .answer = "Health",
     .audience = Audience::kMonitors},
    {.path = "/livez",
     .route = Route::kLive,
     .body = kNone,
     .summary = "Whether the server is at work",
     .answer = "Health",
     .audience = Audience::kMonitors},
    {.path = "/readyz",
     .route = Route::kReady,
     .body = kNone,
     .summary = "Whether a request would be taken",
     .answer = "Health",
     .audience = Audience::kMonitors},
    {.path = "/metrics",
     .route = Route::kMetrics,
     .body = kNone,
     .summary = "Numbers for Prometheus, as text",
     .audience = Audience::kAdmins},
    {.path = "/version",
     .route = Route::kVersion,
     .body = kNone,
     .summary = "The server's version",
     .answer = "Version",
     .audience = Audience::kMonitors},
    {"/props", Route::kProps, kNone, "Model and sizes", {}, "Props"},
    {.path = "/slots",
     .route = Route::kSlots,
     .body = kNone,
     .summary = "Requests that are there",
     .answer = "Slots",
     .audience = Audience::kMonitors},
    {"/openapi.json", Route::kOpenApi, kNone, "This description", {}, "OpenApi"},
    {.path = "/console/events",
     .route = Route::kConsoleEvents,
     .body = kNone,
     .summary = "What the console shows, as it changes",
     .media = kEvents},
    {.path = "/",
     .route = Route::kRoot,
     .body = kNone,
     .summary = "Leads to /console",
     .audience = Audience::kAnybody,
     .media = "text/html"},
    {.path = "/console",
     .route = Route::kConsole,
     .body = kNone,
     .summary = "A page that shows what runs",
     .audience = Audience::kAnybody,
     .media = "text/html"},
    {.path = "/console/style.css",
     .route = Route::kConsoleStyle,
     .body = kNone,
     .summary = "Of the console",
     .audience = Audience::kAnybody,
     .media = "text/css"},
    {.path = "/console/console.js",
     .route = Route::kConsoleScript,
     .body = kNone,
     .summary = "Of the console",
     .audience = Audience::kAnybody,
     .media = "text/javascript"},
    {.path = "/console/figures.js",
     .route = Route::kConsoleFigures,
     .body = kNone,
     .summary = "Of the console",
     .audience = Audience::kAnybody,
     .media = "text/javascript"},
    {.path = "/console/chat.js",
     .route = Route::kConsoleChat,
     .body = kNone,
     .summary = "Of the console",
     .audience = Audience::kAnybody,
     .media = "text/javascript"},
    {.path = "/console/icon.svg",
     .route = Route::kConsoleIcon,
     .body = kNone,
     .summary = "Of the console",
     .audience = Audience::kAnybody,
     .media = "image/svg+xml"},
});

}  // namespace

std::span<const RouteRow> RouteTable() { return kTable; }

const RouteRow& RowOf(Route route) {
  const auto table = RouteTable();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const RouteRow& row) { return row.route == route; });
  CHECK(found != table.end());
  return *found;
}

}  // namespace skald::server
