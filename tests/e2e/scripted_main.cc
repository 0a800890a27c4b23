// The server of scripted_server.h as a program, for clients in other languages. Says where it
// listens, and ends when its standard input does.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/check.h"
#include "base/thread.h"
#include "e2e/scripted_server.h"
#include "skald/server.h"

int main() {
  const skald::Model model = skald::ScriptedModel();
  auto server =
      skald::Server::Create(model, *skald::Engine::Create(model, {}), skald::ScriptedOptions());
  CHECK(server.ok());
  fmt::print("http://127.0.0.1:{}\n", server->port());
  std::fflush(stdout);
  const skald::Thread watcher("stdin", [&] {
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) > 0) continue;
    server->Stop();
  });
  CHECK(server->Run().ok());
}
