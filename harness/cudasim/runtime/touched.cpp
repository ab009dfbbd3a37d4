// Copies an output of which only some pages were written, without touching the rest on either side.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "memory.h"
#include "sim/abi.h"

namespace sim {
namespace {

// Bits of /proc/self/pagemap, see the kernel's admin-guide/mm/pagemap.
constexpr uint64_t is_present = uint64_t(1) << 63, is_swapped = uint64_t(1) << 62, is_file_page = uint64_t(1) << 61;

// Tells pages of a private mapping that were written; where the kernel won't tell, every page may have been.
class PageMap {
 public:
  // In memory shared with another process every page is a file's, written or not.
  explicit PageMap(bool is_useful) : file_(!is_useful ? -1 : open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {}
  ~PageMap() {
    if (file_ >= 0) close(file_);
  }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  bool may_be_written(uintptr_t page) {
    if (file_ < 0) return true;
    uintptr_t number = page / page_size;
    if (number < first_ || number >= first_ + entries_.size()) load(number);
    if (entries_.empty()) return true;
    uint64_t entry = entries_[number - first_];
    return (entry & is_swapped) || ((entry & is_present) && !(entry & is_file_page));
  }

 private:
  void load(uintptr_t number) {
    first_ = number;
    entries_.resize(8192);
    ssize_t got = pread(file_, entries_.data(), entries_.size() * sizeof(uint64_t), number * sizeof(uint64_t));
    entries_.resize(got > 0 ? got / sizeof(uint64_t) : 0);
  }

  int file_;
  uintptr_t first_ = 0;
  std::vector<uint64_t> entries_;
};

// memcmp of a range with itself, shifted by one, compares all bytes with the first.
bool holds_only(const char* start, size_t nbytes, unsigned char byte) {
  return static_cast<unsigned char>(*start) == byte && memcmp(start, start + 1, nbytes - 1) == 0;
}

bool was_written(PageMap& pages, const char* start, size_t nbytes) {
  auto first = reinterpret_cast<uintptr_t>(start) / page_size * page_size;
  bool maybe = false;
  for (uintptr_t page = first; page < reinterpret_cast<uintptr_t>(start) + nbytes; page += page_size)
    maybe = maybe || pages.may_be_written(page);
  return maybe && !holds_only(start, nbytes, 0xFF) && !holds_only(start, nbytes, 0);
}

}  // namespace
}  // namespace sim

// Whole pages of the destination, so that a page there is either complete or a hole. Returns the bytes copied.
extern "C" size_t sim_copy_touched(void* destination, const void* source, size_t nbytes) {
  using namespace sim;
  PageMap pages(is_private(source, nbytes));
  auto* to = static_cast<char*>(destination);
  auto* from = static_cast<const char*>(source);
  size_t copied = 0;
  for (size_t done = 0; done < nbytes;) {
    size_t to_page_end = page_size - reinterpret_cast<uintptr_t>(to + done) % page_size;
    size_t piece = std::min(to_page_end, nbytes - done);
    if (was_written(pages, from + done, piece)) {
      memcpy(to + done, from + done, piece);
      copied += piece;
    }
    done += piece;
  }
  return copied;
}
