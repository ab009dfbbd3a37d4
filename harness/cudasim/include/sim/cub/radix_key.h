// The order of radix sorts: that of a key's bits, turned so that they sort as its values do. −0 and +0 are equal; a NaN
// lies beyond the infinity of its sign.
#pragma once
#include "sim/cub/team.h"

#if defined(HARNESS_SIM_DEVICE)
namespace cub {
namespace details {

template <size_t Bytes>
struct BitsOf;
template <>
struct BitsOf<1> {
  typedef uint8_t type;
};
template <>
struct BitsOf<2> {
  typedef uint16_t type;
};
template <>
struct BitsOf<4> {
  typedef uint32_t type;
};
template <>
struct BitsOf<8> {
  typedef uint64_t type;
};

template <class Key>
constexpr bool is_float =
    std::is_floating_point_v<Key> || std::is_same_v<Key, __half> || std::is_same_v<Key, __nv_bfloat16>;

template <class Key>
auto radix_bits(const Key& key) {
  static_assert(is_float<Key> || std::is_integral_v<Key>, "radix sorts of such keys can't be simulated");
  typedef typename BitsOf<sizeof(Key)>::type Bits;
  constexpr Bits sign = Bits(Bits(1) << (sizeof(Key) * 8 - 1));
  Bits bits;
  memcpy(&bits, &key, sizeof bits);
  if constexpr (is_float<Key>) {
    if (bits == sign) bits = 0;
    return Bits(bits & sign ? ~bits : bits | sign);
  } else {
    return Bits(std::is_signed_v<Key> ? bits ^ sign : bits);
  }
}

template <class Key, bool IsDescending>
struct RadixOrder {
  int begin_bit, end_bit;

  bool operator()(const Key& a, const Key& b) const {
    return IsDescending ? digits(b) < digits(a) : digits(a) < digits(b);
  }
  uint64_t digits(const Key& key) const {
    uint64_t bits = radix_bits(key);
    if (end_bit < 64) bits &= (uint64_t(1) << end_bit) - 1;
    return bits >> begin_bit;
  }
};

}  // namespace details
}  // namespace cub
#endif
