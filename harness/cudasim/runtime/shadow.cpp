#include "shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace sim {

template <class T>
void LazyArray<T>::resize(size_t count) {
  release();
  nbytes_ = count * sizeof(T);
  void* mapping = mmap(nullptr, nbytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  data_ = static_cast<T*>(mapping);
}

template <class T>
void LazyArray<T>::release() {
  if (data_) munmap(data_, nbytes_);
  data_ = nullptr;
}

template class LazyArray<uint8_t>;
template class LazyArray<Cell>;

void Shadow::mark_written(size_t begin, size_t end) {
  end = std::min(end, nbytes_);
  if (all_written_ || begin >= end) return;
  auto next = ranges_.upper_bound(begin);
  if (next != ranges_.begin() && std::prev(next)->second >= begin) --next;
  while (next != ranges_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = ranges_.erase(next);
  }
  ranges_[begin] = end;
  all_written_ = begin == 0 && end == nbytes_;
}

unsigned Shadow::unwritten_by_host(size_t index, unsigned mask) const {
  for (unsigned byte = 0; byte < granule; byte++) {
    size_t at = index * granule + byte;
    auto after = ranges_.upper_bound(at);
    if (after != ranges_.begin() && std::prev(after)->second > at) mask &= ~(1u << byte);
  }
  return mask;
}

void Shadow::forget() {
  ranges_.clear();
  if (!written_.empty()) memset(&written_[0], 0, nbytes_ / granule + 1);
}

size_t Shadow::count_unwritten(size_t begin, size_t end, size_t& first) {
  if (all_written_ || is_partial) return 0;
  size_t count = 0;
  for (size_t at = begin; at < end; at++) {
    if (at % granule == 0 && end - at >= granule && !unwritten(at / granule, 0xF)) {
      at += granule - 1;
      continue;
    }
    if (!unwritten(at / granule, 1u << at % granule)) continue;
    if (!count++) first = at;
  }
  return count;
}

}  // namespace sim
