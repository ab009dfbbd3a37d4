// CUB's operators, and pairs of an index or key with a value. Sum, Max and Min are gone from CUDA 13.
#pragma once
#include "sim/cub/team.h"

#if defined(HARNESS_SIM_DEVICE)
namespace cub {

template <class Key_, class Value_>
struct KeyValuePair {
  typedef Key_ Key;
  typedef Value_ Value;
  Key key;
  Value value;
  KeyValuePair() = default;
  KeyValuePair(const Key& key_, const Value& value_) : key(key_), value(value_) {}
  bool operator!=(const KeyValuePair& other) const { return key != other.key || value != other.value; }
};

struct Sum {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};
struct Equality {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
};
struct Inequality {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a != b;
  }
};
// Of equal values the one with the lower key.
struct ArgMax {
  template <class Key, class Value>
  KeyValuePair<Key, Value> operator()(const KeyValuePair<Key, Value>& a, const KeyValuePair<Key, Value>& b) const {
    return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};
struct ArgMin {
  template <class Key, class Value>
  KeyValuePair<Key, Value> operator()(const KeyValuePair<Key, Value>& a, const KeyValuePair<Key, Value>& b) const {
    return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
  }
};

}  // namespace cub
#endif
