/// WindowPool: which pages have a window page, and which of these go first. Integers only.
///
/// Layers whose rows see a window need the K and V of few positions: those that rows to come can
/// see. So a page (kv/page_pool.h) has K and V of all other layers as long as it lives, and those
/// of the layers with windows in a window page, which it may lose before. Who needs these positions
/// then computes them again, into a page of its own, or brings them back from where they were kept
/// (WindowWatcher).
///
/// A window page is in use as long as a sequence has it in its window. Afterwards it is idle:
/// somebody else may go on from there. Accounting is conserved, always:
///
///     free (nobody) + used (in some window) + idle (of a page in the prefix tree) = total
///
/// Idle ones are given to others when none is free, the oldest first: before all others those that
/// a sequence has passed on its way, then those at places, where a sequence has ended, begun to go
/// on, or come to the end of its prompt. A long text passes more of them in a minute than there
/// are, and nobody asks for most. But the last that were passed, an eighth of all, stay with the
/// places: who edits his last message goes on from the middle of it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kv/page_id.h"

namespace skald::kv {

/// How many window pages there are, and how far a window reaches.
struct WindowLimits {
  int64_t pages = 0;      ///< 0: each page has one of its own number, always
  int64_t positions = 0;  ///< that a row sees, its own included
  int64_t pinned = 0;     ///< the first positions of a text: a row sees these, too
};

/// Hears of window pages at places that go to other pages, to keep them elsewhere. Of those that a
/// sequence has passed on its way it does not: most of a long text, and nobody asks for them.
class WindowWatcher {
 public:
  virtual ~WindowWatcher() = default;
  /// The window page of `page` stands as it is until the call returns. `page` stays.
  virtual void LosingWindow(PageId page) = 0;
};

/// Not thread-safe: the engine thread owns it. All memory is taken at construction. Every function
/// but CheckIntegrity is O(1).
class WindowPool {
 public:
  WindowPool(int64_t page_count, const WindowLimits& limits);

  /// False: every page has its window page always, and nothing below is called.
  bool exists() const { return limits_.pages > 0; }
  const WindowLimits& limits() const { return limits_; }
  /// The first page of a sequence with a position that the row at `position`, or a later one, sees
  /// in its window.
  int64_t FirstSeen(int64_t position) const;
  /// So many pages at the beginning of a sequence hold pinned positions.
  int64_t pinned_pages() const;
  /// The last page before page `index` of a sequence that the row at `position` sees; -1: none.
  int64_t SeenBefore(int64_t index, int64_t position) const;

  /// Gives a page that has none a window page, used once. Requires available_count() > 0.
  void Attach(PageId page);
  /// The window page of a page; kNoPage if it has none.
  PageId Of(PageId page) const { return At(page).window; }
  bool Has(PageId page) const { return Of(page) != kNoPage; }

  /// One sequence more, or less, has the page in its window. Requires Has(page).
  void Use(PageId page);
  void Leave(PageId page);
  /// Says of a page in use that a sequence begins or ends there.
  void MarkPlace(PageId page) { At(page).is_place = true; }
  /// From now on `watcher` hears of what it says above; null ends it.
  void Watch(WindowWatcher* watcher) { watcher_ = watcher; }
  /// Takes the window page from a page, if it has one that is not in use.
  void DropIdle(PageId page);

  int64_t free_count() const { return static_cast<int64_t>(free_.size()); }
  int64_t idle_count() const { return lists_[0].count + lists_[1].count; }
  int64_t used_count() const { return total_count() - free_count() - idle_count(); }
  int64_t total_count() const { return limits_.pages; }
  /// What Attach can give.
  int64_t available_count() const { return free_count() + idle_count(); }
  /// Idle ones that went to others.
  int64_t evicted_count() const { return evicted_; }
  /// In how many windows the window page of a page is.
  int32_t users(PageId page) const { return At(page).users; }

  /// As PagePool::RecordFreed, of window pages.
  void RecordFreed(std::vector<PageId>* freed) { freed_ = freed; }

  /// Recounts everything. Empty if all is well, else one line that says what is wrong. O(total).
  std::string CheckIntegrity() const;

 private:
  // What belongs to a page.
  struct Part {
    PageId window = kNoPage;
    int32_t users = 0;
    bool is_place = false;
    PageId older = kNoPage;  // neighbours among the idle ones of its kind
    PageId newer = kNoPage;
  };
  struct Idle {
    PageId oldest = kNoPage;
    PageId newest = kNoPage;
    int64_t count = 0;
  };

  Part& At(PageId page) { return parts_[static_cast<size_t>(page)]; }
  const Part& At(PageId page) const { return parts_[static_cast<size_t>(page)]; }
  Idle& ListOf(const Part& part) { return lists_[size_t{part.is_place}]; }
  void ListInsert(PageId page);
  void ListRemove(PageId page);
  const Idle& NextToGo() const;
  void Detach(PageId page);

  WindowLimits limits_;
  std::vector<PageId> free_;
  std::vector<Part> parts_;         // by page
  std::array<Idle, 2> lists_ = {};  // passed; places
  int64_t evicted_ = 0;
  std::vector<PageId>* freed_ = nullptr;
  WindowWatcher* watcher_ = nullptr;
};

/// On the way along the pages of a text, from its first one on: where can a sequence go on?
class WindowsOnTheWay {
 public:
  explicit WindowsOnTheWay(const WindowPool& windows) : windows_(windows) {}

  /// The next positions stand in `page`, from `begin` on; a page that holds those before it too may
  /// come again, or another one that does. True if all pages that the row at `end`, behind them,
  /// sees have their window pages.
  bool AllowGoingOn(PageId page, int64_t begin, int64_t end);

 private:
  const WindowPool& windows_;
  int64_t index_ = 0;          // of the page where the way is
  bool has_ = true;            // its window page
  int64_t missing_ = -1;       // the last index before it of one that has none
  bool lacks_pinned_ = false;  // one of those before it that has none is pinned
};

}  // namespace skald::kv
