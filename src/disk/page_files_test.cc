#include "disk/page_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "disk/test_pages.h"

namespace skald::disk {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

uint32_t ModeOf(const std::string& path) {
  struct stat found = {};
  EXPECT_EQ(stat(path.c_str(), &found), 0) << path;
  return found.st_mode & 07777U;
}

void FlipBit(const std::string& path, std::streamoff offset, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const int byte = file.get();
  ASSERT_NE(byte, EOF) << path << " " << offset;
  file.seekp(offset);
  file.put(static_cast<char>(byte ^ (1 << bit)));
}

TEST(PageFiles, GivesWhatWasPutAndNothingElse) {
  const TestFolder folder;
  auto files = OpenFiles(folder, kMiB);
  ASSERT_NE(files, nullptr);
  EXPECT_EQ(ReadBack(files.get(), TestPage(1)), Found::kMiss);
  files->Put(TestPage(1).name(), TestPage(1).page);
  files->Put(TestPage(2).name(), TestPage(2).page);
  EXPECT_EQ(ReadBack(files.get(), TestPage(1)), Found::kRight);
  EXPECT_EQ(ReadBack(files.get(), TestPage(2)), Found::kRight);
  EXPECT_EQ(ReadBack(files.get(), TestPage(3)), Found::kMiss);
  EXPECT_EQ(files->Stats().pages_dropped, 0);
}

// As long as one of them is there, also for whoever opens the files later.
TEST(PageFiles, SaysBehindWhichPagesThereAreTails) {
  const TestFolder folder;
  TestPage tail(1);
  tail.tokens.back() = kNoToken;
  tail.key = NextKey(tail.before, tail.tokens);
  {
    auto files = OpenFiles(folder, kMiB);
    files->Put(TestPage(1).name(), TestPage(1).page);
    EXPECT_FALSE(files->HasTailBehind(tail.before)) << "a page is none";
    files->Put(tail.name(), tail.page);
    EXPECT_TRUE(files->HasTailBehind(tail.before));
    EXPECT_FALSE(files->HasTailBehind(tail.key));
  }
  auto files = OpenFiles(folder, kMiB);
  EXPECT_TRUE(files->HasTailBehind(tail.before));
  EXPECT_EQ(ReadBack(files.get(), tail), Found::kRight);
  for (int i = 2; i < 400; ++i) files->Put(TestPage(i).name(), TestPage(i).page);
  EXPECT_FALSE(files->Has(tail.key)) << "its file has begun anew";
  EXPECT_FALSE(files->HasTailBehind(tail.before));
}

// The key is a hash of the tokens; what decides are the tokens.
TEST(PageFiles, ComparesTokensAndTheKeyBefore) {
  const TestFolder folder;
  auto files = OpenFiles(folder, kMiB);
  const TestPage page(1);
  files->Put(page.name(), page.page);
  std::vector<std::byte> out(page.page.size());
  const TestPage other(2);
  EXPECT_FALSE(files->Read({.key = page.key, .before = page.before, .tokens = other.tokens}, out));
  files->Put(page.name(), page.page);
  EXPECT_FALSE(files->Read({.key = page.key, .before = other.before, .tokens = page.tokens}, out));
  EXPECT_EQ(files->Stats().pages_dropped, 2);
}

TEST(PageFiles, OutliveTheProcessThatWroteThem) {
  const TestFolder folder;
  for (int start = 0; start < 5; ++start) {
    auto files = OpenFiles(folder, kMiB);
    EXPECT_EQ(files->Stats().pages, start);
    for (int i = 0; i < start; ++i) EXPECT_EQ(ReadBack(files.get(), TestPage(i)), Found::kRight);
    files->Put(TestPage(start).name(), TestPage(start).page);
  }
  // All of them in one file: a start begins none.
  EXPECT_GT(std::filesystem::file_size(folder.File("segment-00")), 5 * 4096U);
  EXPECT_EQ(std::filesystem::file_size(folder.File("segment-01")), 0U);
}

TEST(PageFiles, KeepWithinTheirBytesAndGiveUpWhatWasUsedLeastLately) {
  const TestFolder folder;
  auto files = OpenFiles(folder, kMiB);
  constexpr int kPerSegment = (kMiB / kSegments - 256) / (4096 + 320);
  constexpr int kFit = kPerSegment * kSegments;
  for (int i = 0; i < kFit; ++i) files->Put(TestPage(i).name(), TestPage(i).page);
  EXPECT_EQ(files->Stats().pages, kFit);
  EXPECT_EQ(files->Stats().segments_reused, 0);
  // The first segment is used once more, so the second one goes.
  EXPECT_EQ(ReadBack(files.get(), TestPage(0)), Found::kRight);
  files->Put(TestPage(kFit).name(), TestPage(kFit).page);
  EXPECT_EQ(ReadBack(files.get(), TestPage(0)), Found::kRight);
  EXPECT_FALSE(files->Has(TestPage(kPerSegment).key));
  EXPECT_TRUE(files->Has(TestPage(2 * kPerSegment).key));
  EXPECT_EQ(files->Stats().segments_reused, 1);
  for (int i = 0; i < 3 * kFit; ++i) {
    files->Put(TestPage(1000 + i).name(), TestPage(1000 + i).page);
    ASSERT_LE(files->Stats().bytes, kMiB);
  }
  int64_t bytes = 0;
  for (int i = 0; i < kSegments; ++i) {
    bytes += static_cast<int64_t>(std::filesystem::file_size(folder.File(SegmentName(i))));
  }
  EXPECT_LE(bytes, kMiB);
  EXPECT_EQ(bytes, files->Stats().bytes);
}

TEST(PageFiles, AFolderTakesFewerBytesWhenItIsTold) {
  const TestFolder folder;
  {
    auto files = OpenFiles(folder, 4 * kMiB);
    for (int i = 0; i < 500; ++i) files->Put(TestPage(i).name(), TestPage(i).page);
  }
  auto files = OpenFiles(folder, kMiB);
  EXPECT_LE(files->Stats().bytes, kMiB);
  EXPECT_GT(files->Stats().pages, 0);
  for (int i = 0; i < 500; ++i) EXPECT_NE(ReadBack(files.get(), TestPage(i)), Found::kWrong);
}

TEST(PageFiles, PagesOfAnotherModelAreNotSeenAndStayWhileThereIsRoom) {
  const TestFolder folder;
  const TestPage page(1);
  OpenFiles(folder, kMiB)->Put(page.name(), page.page);
  {
    auto other = OpenFiles(folder, kMiB, 8192, "another");
    EXPECT_FALSE(other->Has(page.key));
    const TestPage larger(1, 8192);
    other->Put(larger.name(), larger.page);
    EXPECT_EQ(ReadBack(other.get(), larger), Found::kRight);
  }
  auto files = OpenFiles(folder, kMiB);
  EXPECT_EQ(files->Stats().pages, 1);
  EXPECT_EQ(ReadBack(files.get(), page), Found::kRight);
}

TEST(PageFiles, OnlyThisUserCanReadThem) {
  const TestFolder folder;
  auto files = OpenFiles(folder, kMiB);
  ASSERT_TRUE(files->KeepSecret(std::string(32, 'x')).ok());
  EXPECT_EQ(ModeOf(folder.path()), 0700U);
  for (const char* name : {"lock", "secret", "segment-00", "segment-15"}) {
    EXPECT_EQ(ModeOf(folder.File(name)), 0600U) << name;
  }
  files.reset();
  // Files that others may read are theirs no more; a folder that others may write is not used.
  ASSERT_EQ(chmod(folder.File("segment-03").c_str(), 0644), 0);
  ASSERT_NE(OpenFiles(folder, kMiB), nullptr);
  EXPECT_EQ(ModeOf(folder.File("segment-03")), 0600U);
  ASSERT_EQ(chmod(folder.path().c_str(), 0770), 0);
  EXPECT_EQ(PageFiles::Open(folder.path(), kMiB).status().code(), ErrorCode::kInvalidArgument);
}

// Whoever could plant names in the folder before it was ours would have us write somewhere else.
TEST(PageFiles, FollowNoLinksAndOpenNoDevices) {
  for (const int kind : {0, 1, 2, 3}) {
    const TestFolder folder;
    ASSERT_EQ(mkdir(folder.path().c_str(), 0700), 0);
    const std::string victim = folder.path() + "-victim";
    std::ofstream(victim) << "precious";
    const std::string name = folder.File("segment-00");
    int planted = mkdir(name.c_str(), 0700);
    if (kind < 3) planted += rmdir(name.c_str());
    if (kind == 0) planted = symlink(victim.c_str(), name.c_str());
    if (kind == 1) planted = link(victim.c_str(), name.c_str());
    if (kind == 2) planted = mkfifo(name.c_str(), 0600);
    ASSERT_EQ(planted, 0);
    EXPECT_FALSE(PageFiles::Open(folder.path(), kMiB).ok()) << kind;
    EXPECT_EQ(std::filesystem::file_size(victim), 8U) << kind;
  }
}

TEST(PageFiles, HaveOneOwner) {
  const TestFolder folder;
  auto files = OpenFiles(folder, kMiB);
  const auto second = PageFiles::Open(folder.path(), kMiB);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(second.status().message(), folder.path() + ": another process has this cache open");
  files.reset();
  EXPECT_NE(OpenFiles(folder, kMiB), nullptr);
}

TEST(PageFiles, KeepOneSecret) {
  const TestFolder folder;
  auto files = OpenFiles(folder, kMiB);
  EXPECT_EQ(*files->KeepSecret(std::string(32, 'a')), std::string(32, 'a'));
  files.reset();
  files = OpenFiles(folder, kMiB);
  EXPECT_EQ(*files->KeepSecret(std::string(32, 'b')), std::string(32, 'a'));
  // One that was torn is none.
  std::filesystem::resize_file(folder.File("secret"), 31);
  EXPECT_EQ(*files->KeepSecret(std::string(32, 'c')), std::string(32, 'c'));
}

TEST(PageFiles, SayWhatDoesNotFit) {
  const TestFolder folder;
  EXPECT_EQ(PageFiles::Open(folder.path(), kMiB - 1).status().code(), ErrorCode::kInvalidArgument);
  auto files = PageFiles::Open(folder.path(), kMiB);
  ASSERT_TRUE(files.ok());
  const int64_t fits = kMiB / kSegments - 256 - 320;
  const Status status = (*files)->Serve({.identity = {}, .label = "", .page_bytes = fits + 1});
  EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
  EXPECT_TRUE((*files)->Serve({.identity = {}, .label = "", .page_bytes = fits}).ok());
  EXPECT_FALSE(PageFiles::Open(folder.path() + "/no/parent", kMiB).ok());
}

// Bits of the whole file, headers and pages: the page is right, or it is missed.
TEST(PageFiles, AFlippedBitIsAMiss) {
  const TestFolder folder;
  const TestFolder copy;
  constexpr int kPages = 4;
  {
    auto files = OpenFiles(folder, kMiB);
    for (int i = 0; i < kPages; ++i) files->Put(TestPage(i).name(), TestPage(i).page);
  }
  const auto size = std::filesystem::file_size(folder.File("segment-00"));
  std::mt19937_64 random(7);
  int64_t missed = 0;
  for (int round = 0; round < 1000; ++round) {
    // A quarter of them in the header of the file and of its first record.
    const uint64_t range = round % 4 == 0 ? 256 + 320 : size;
    const auto offset = static_cast<std::streamoff>(random() % range);
    const int bit = static_cast<int>(random() % 8);
    FlipBit(folder.File("segment-00"), offset, bit);
    auto files = OpenFiles(folder, kMiB);
    ASSERT_NE(files, nullptr);
    for (int i = 0; i < kPages; ++i) {
      const Found found = ReadBack(files.get(), TestPage(i));
      ASSERT_NE(found, Found::kWrong) << offset << " bit " << bit;
      missed += int64_t{found == Found::kMiss};
    }
    files.reset();
    FlipBit(folder.File("segment-00"), offset, bit);
  }
  // Each flip costs one page, or all of them in the header of the file.
  EXPECT_GE(missed, 1000);
}

// While they are open: what is in the index is no promise.
TEST(PageFiles, APageAlteredLaterIsDroppedAndCanBePutAgain) {
  const TestFolder folder;
  auto files = OpenFiles(folder, kMiB);
  const TestPage page(1);
  files->Put(page.name(), page.page);
  FlipBit(folder.File("segment-00"), 256 + 320 + 100, 3);
  EXPECT_EQ(ReadBack(files.get(), page), Found::kMiss);
  EXPECT_FALSE(files->Has(page.key));
  EXPECT_EQ(files->Stats().pages_dropped, 1);
  files->Put(page.name(), page.page);
  EXPECT_EQ(ReadBack(files.get(), page), Found::kRight);
}

TEST(PageFiles, EveryShorterFileGivesWhatIsWhole) {
  const TestFolder folder;
  {
    auto files = OpenFiles(folder, kMiB, 64);
    for (int i = 0; i < 3; ++i) {
      const TestPage page(i, 64);
      files->Put(page.name(), page.page);
    }
  }
  constexpr uint64_t kRecord = 320 + 64;
  for (uint64_t size = 256 + 3 * kRecord; size-- > 0;) {
    std::filesystem::resize_file(folder.File("segment-00"), size);
    auto files = OpenFiles(folder, kMiB, 64);
    const uint64_t whole = size < 256 ? 0 : (size - 256) / kRecord;
    ASSERT_EQ(files->Stats().pages, static_cast<int64_t>(whole)) << size;
    for (uint64_t i = 0; i < 3; ++i) {
      ASSERT_EQ(ReadBack(files.get(), TestPage(static_cast<int>(i), 64)),
                i < whole ? Found::kRight : Found::kMiss);
    }
  }
}

// A count that a child process shares with its parent.
class SharedCount {
 public:
  SharedCount()
      : memory_(mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;
  ~SharedCount() { munmap(memory_, sizeof(std::atomic<int>)); }
  std::atomic<int>& value() { return *static_cast<std::atomic<int>*>(memory_); }

 private:
  void* memory_;  // zeros, which is an atomic 0
};

// A child writes until it is killed, some pages later and in the middle of one (on a slow machine
// too: its pages are counted); whatever stands there then is right or not there.
TEST(PageFiles, KilledInTheMiddleOfAWrite) {
  const TestFolder folder;
  constexpr int64_t kPage = 60'000;
  int64_t found_right = 0;
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    SharedCount written;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto files = OpenFiles(folder, 8 * kMiB, kPage);
      for (int i = 0; files != nullptr; ++i) {
        const TestPage page(i % 400, kPage);
        files->Put(page.name(), page.page);
        ++written.value();
      }
      std::_Exit(1);
    }
    // Page 0 and every third one are read back below: two of them on average. Half a minute for a
    // child that could not open its files.
    const int wanted = static_cast<int>(random() % 12);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (written.value() < wanted && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 1'000));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto files = OpenFiles(folder, 8 * kMiB, kPage);
    ASSERT_NE(files, nullptr) << "the lock of the dead stays";
    for (int i = 0; i < 400; i += 3) {
      const Found found = ReadBack(files.get(), TestPage(i, kPage));
      ASSERT_NE(found, Found::kWrong) << i;
      found_right += int64_t{found == Found::kRight};
    }
  }
  EXPECT_GT(found_right, 100);
}

// A limit of the process stands for a disk that is full: write fails in the middle of a page.
TEST(PageFiles, AFullDiskEndsWritingAndNothingElse) {
  const TestFolder folder;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    auto files = OpenFiles(folder, 16 * kMiB);
    const rlimit limit = {.rlim_cur = 10'000, .rlim_max = 10'000};
    bool good = files != nullptr && setrlimit(RLIMIT_FSIZE, &limit) == 0;
    for (int i = 0; good && i < 5; ++i) files->Put(TestPage(i).name(), TestPage(i).page);
    good = good && files->Stats().pages == 2 && files->Stats().pages_written == 2;
    good = good && files->Stats().stopped.starts_with(folder.path() + ": write: ");
    good = good && ReadBack(files.get(), TestPage(0)) == Found::kRight;
    good = good && ReadBack(files.get(), TestPage(1)) == Found::kRight;
    good = good && ReadBack(files.get(), TestPage(2)) == Found::kMiss;
    std::_Exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  // And the next start writes on, over what was torn.
  auto files = OpenFiles(folder, 16 * kMiB);
  EXPECT_EQ(files->Stats().pages, 2);
  files->Put(TestPage(2).name(), TestPage(2).page);
  EXPECT_EQ(ReadBack(files.get(), TestPage(2)), Found::kRight);
}

}  // namespace
}  // namespace skald::disk
