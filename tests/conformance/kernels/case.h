// A conformance case: host code that launches its kernels on the buffers which cases.py gives it.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <map>
#include <string>

// The inputs of a case, then its outputs.
struct Buffers {
  void* const* data;
  const int64_t* numel;

  template <class T>
  T* at(int index) const {
    return static_cast<T*>(data[index]);
  }
  int size(int index) const { return int(numel[index]); }
};

typedef void (*CaseFunction)(const Buffers&);

std::map<std::string, CaseFunction>& cases();

struct Registration {
  Registration(const char* name, CaseFunction function) { cases()[name] = function; }
};

#define CASE(name)                                             \
  static void case_##name(const Buffers& buffers);             \
  static Registration register_##name(#name, case_##name);     \
  static void case_##name(const Buffers& buffers)
