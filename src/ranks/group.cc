#include "ranks/group.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <string_view>
#include <utility>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/stopwatch.h"

namespace skald::ranks {
namespace {

constexpr uint32_t kHello = 1;   // who this is: first of all, from both sides
constexpr uint32_t kAnswer = 2;  // to an order

// Four times a second: a process that gets no processor for longer is as good as stopped, and the
// cost is a wake-up.
constexpr double kBeatSeconds = 0.25;
// Of the time between two looks no more counts: where it is longer, this process did not run.
constexpr double kMostBetweenLooks = 2 * kBeatSeconds;

// Longer than any build's name, or message about an error.
constexpr uint64_t kMostText = 1 << 16;

struct Hello {
  std::string build;
  int32_t rank = 0;   // of who reads it; from the others back as they were told
  int32_t count = 0;  // of ranks
  int64_t process = 0;
  std::string host;
};

std::vector<std::byte> BytesOf(const Hello& hello) {
  ByteWriter writer;
  writer.String(hello.build).Put(hello.rank).Put(hello.count).Put(hello.process);
  return writer.String(hello.host).bytes();
}

Result<Hello> ReadHello(const Message& message) {
  ByteReader reader(message.bytes);
  const auto build = reader.ReadString(kMostText);
  const auto rank = reader.Read<int32_t>();
  const auto count = reader.Read<int32_t>();
  const auto process = reader.Read<int64_t>();
  const auto host = reader.ReadString(kMostText);
  if (message.kind != kHello || !build || !host || reader.remaining() > 0)
    return NoMessageOfARank();
  return Hello{.build = std::string(*build),
               .rank = *rank,
               .count = *count,
               .process = *process,
               .host = std::string(*host)};
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, sizeof(name));
  return name;
}

// What this process says, to or as such a rank.
Hello HelloFrom(const std::string& build, int32_t rank, int32_t count) {
  return {.build = build, .rank = rank, .count = count, .process = getpid(), .host = HostName()};
}

// An answer is a code, a text and bytes; `bytes` are those behind it.
Status ReadAnswer(const Message& message, std::span<const std::byte>* bytes) {
  ByteReader reader(message.bytes);
  const auto code = reader.Read<uint8_t>();
  const auto text = reader.ReadString(kMostText);
  if (message.kind != kAnswer || !text || *code > static_cast<uint8_t>(ErrorCode::kUnavailable)) {
    return NoMessageOfARank();
  }
  *bytes = *reader.Take(reader.remaining());
  if (*code == 0) return Ok();
  return Status(static_cast<ErrorCode>(*code), std::string(*text));
}

}  // namespace

Group::Group(std::unique_ptr<Link> link, const Options& options)
    : link_(std::move(link)),
      patience_seconds_(options.patience_seconds),
      verify_steps_(options.verify_steps) {}

// The thread that looks sees channels that are shut at once.
Group::~Group() {
  stop_ = true;
  for (Peer& peer : peers_) peer.channel.Shut();
  watch_.reset();
}

Result<std::shared_ptr<Group>> Group::Lead(std::unique_ptr<Link> link, std::vector<Channel> others,
                                           const Options& options) {
  CHECK(link->rank() == 0 && link->count() == static_cast<int>(others.size()) + 1);
  const auto group = std::shared_ptr<Group>(new Group(std::move(link), options));
  for (Channel& channel : others) {
    const int rank = static_cast<int>(group->peers_.size()) + 1;
    group->peers_.push_back({.rank = rank, .channel = std::move(channel)});
  }
  for (Peer& peer : group->peers_) {
    Status status = group->Greet(&peer, options);
    if (!status.ok()) return std::move(status).WithContext(group->NameOf(peer));
  }
  return group;
}

// What it says is compared before anything else is read of it.
Status Group::Greet(Peer* peer, const Options& options) {
  const Hello own = HelloFrom(options.build, peer->rank, count());
  RETURN_IF_ERROR(peer->channel.Send(kHello, BytesOf(own)));
  RETURN_IF_ERROR(peer->channel.Receive(&answer_));
  ASSIGN_OR_RETURN(const Hello hello, ReadHello(answer_));
  peer->process = hello.process;
  peer->host = hello.host;
  if (hello.build == options.build) return Ok();
  return Status(ErrorCode::kUnsupported, "it is '" + hello.build + "', expected '" + options.build +
                                             "': ranks that are not alike give " + "other bits");
}

Result<std::shared_ptr<Group>> Group::Join(MakeLink make_link, Channel first,
                                           const Options& options) {
  Message message;
  RETURN_IF_ERROR(first.Receive(&message));
  ASSIGN_OR_RETURN(const Hello hello, ReadHello(message));
  if (hello.rank < 1 || hello.rank >= hello.count) return NoMessageOfARank();
  std::unique_ptr<Link> link = make_link(hello.rank);
  if (link->rank() != hello.rank || link->count() != hello.count) return NoMessageOfARank();
  const auto group = std::shared_ptr<Group>(new Group(std::move(link), options));
  group->peers_.push_back(
      {.rank = 0, .channel = std::move(first), .process = hello.process, .host = hello.host});
  const Hello own = HelloFrom(options.build, hello.rank, hello.count);
  // Before it is judged: the other side is to know what does not fit.
  RETURN_IF_ERROR(group->peers_.front().channel.Send(kHello, BytesOf(own)));
  if (hello.build == options.build) return group;
  return Status(ErrorCode::kUnsupported,
                "the first rank is '" + hello.build + "', expected '" + options.build + "'");
}

std::string Group::NameOf(const Peer& peer) const {
  std::string name = "rank " + std::to_string(peer.rank) + " of " + std::to_string(count());
  if (peer.process == 0) return name;
  name += " (process " + std::to_string(peer.process);
  if (peer.host != HostName()) name += " on " + peer.host;
  return name + ")";
}

void Group::Watch() {
  CHECK(!watch_);
  link_->Beat();
  watch_.emplace("ranks", [this] { WatchMain(); });
}

void Group::Send(Peer* peer, uint32_t kind, std::span<const std::byte> bytes) {
  if (lost() || peer->channel.Send(kind, bytes).ok()) return;
  Break(GoneStatus(*peer).message());
}

void Group::Tell(uint32_t kind, std::span<const std::byte> bytes) {
  for (Peer& peer : peers_) Send(&peer, kind, bytes);
}

void Group::TellOne(int rank, uint32_t kind, std::span<const std::byte> bytes) {
  Send(&peers_[static_cast<size_t>(rank) - 1], kind, bytes);
}

Status Group::Ask(uint32_t kind, std::span<const std::byte> bytes, Take take) {
  Tell(kind, bytes);
  return Await(take);
}

Status Group::AskOne(int rank, uint32_t kind, std::span<const std::byte> bytes, Take take) {
  TellOne(rank, kind, bytes);
  return AwaitFrom(&peers_[static_cast<size_t>(rank) - 1], take);
}

// All answers are taken, also behind an error: the next order is to find none that is old.
Status Group::Await(Take take) {
  Status first;
  for (Peer& peer : peers_) {
    Status status = AwaitFrom(&peer, take);
    if (lost()) return status;
    if (first.ok()) first = std::move(status);
  }
  return first;
}

Status Group::AwaitFrom(Peer* peer, Take take) {
  if (!lost() && !peer->channel.Receive(&answer_).ok()) Break(GoneStatus(*peer).message());
  if (lost()) return status();
  std::span<const std::byte> answer;
  Status status = ReadAnswer(answer_, &answer);
  if (status.ok()) status = take(peer->rank, answer);
  return std::move(status).WithContext(NameOf(*peer));
}

Status Group::Next(Message* order) {
  Status status = peers_.front().channel.Receive(order);
  if (status.ok() && order->kind < kFirstOrder) status = NoMessageOfARank();
  return status;
}

void Group::Answer(const Status& status, std::span<const std::byte> bytes) {
  ByteWriter writer;
  writer.Put(static_cast<uint8_t>(status.code())).String(status.message()).Bytes(bytes);
  Send(&peers_.front(), kAnswer, writer.bytes());
}

void Group::Break(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!why_lost_.empty()) return;
  why_lost_ = why;
  link_->Break();
  for (Peer& peer : peers_) peer.channel.Shut();
  // Within the lock: who takes it back (WhenLost) knows that it is not being called.
  if (told_) told_(Status(ErrorCode::kUnavailable, why));
}

Status Group::status() const {
  const std::lock_guard lock(mutex_);
  if (!why_lost_.empty()) return Status(ErrorCode::kUnavailable, why_lost_);
  if (!lost()) return Ok();
  // Another process was the first to see it, and nobody here has looked yet (WatchMain will): a
  // rank that is gone is named all the same.
  if (const Peer* gone = FindGone()) return GoneStatus(*gone);
  return Status(ErrorCode::kUnavailable, "another rank has given up");
}

const Group::Peer* Group::FindGone() const {
  for (const Peer& peer : peers_) {
    pollfd polled = {.fd = peer.channel.socket(), .events = POLLRDHUP, .revents = 0};
    if (poll(&polled, 1, 0) == 1) return &peer;
  }
  return nullptr;
}

Status Group::GoneStatus(const Peer& peer) const {
  return Status(ErrorCode::kUnavailable, NameOf(peer) + " is gone");
}

void Group::WhenLost(std::function<void(const Status&)> told) {
  const std::lock_guard lock(mutex_);
  told_ = std::move(told);
  if (told_ && !why_lost_.empty()) told_(Status(ErrorCode::kUnavailable, why_lost_));
}

void Group::LookForStopped(double seconds) {
  for (Peer& peer : peers_) {
    const uint32_t beats = link_->beats(peer.rank);
    const bool stands = beats != 0 && beats == peer.beats;
    peer.still_seconds = stands ? peer.still_seconds + std::min(seconds, kMostBetweenLooks) : 0;
    peer.beats = beats;
    if (peer.still_seconds < patience_seconds_) continue;
    first_stands_still_ = peer.rank == 0;
    return Break(NameOf(peer) + " has stood still for " +
                 std::to_string(static_cast<int>(peer.still_seconds)) + " s");
  }
}

void Group::WatchMain() {
  std::vector<pollfd> polled;
  for (const Peer& peer : peers_) {
    polled.push_back({.fd = peer.channel.socket(), .events = POLLRDHUP, .revents = 0});
  }
  // For a beat, or until one is gone.
  const auto look_for_gone = [&] {
    poll(polled.data(), polled.size(), static_cast<int>(kBeatSeconds * 1000));
    if (stop_) return;
    if (const Peer* gone = FindGone()) Break(GoneStatus(*gone).message());
  };
  Stopwatch since_look;
  while (!lost() && !stop_) {
    link_->Beat();
    look_for_gone();
    LookForStopped(since_look.Seconds());
    since_look = Stopwatch();
  }
  if (stop_) return;
  // Another process was the first to see it: perhaps it is that one itself which is gone.
  look_for_gone();
  Break("another rank has given up");
}

}  // namespace skald::ranks
