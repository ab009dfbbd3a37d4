// float4 and its relatives, aligned as on the device.
#pragma once

#define SIM_VECTORS(T, name, align2, align4)                                                      \
  struct name##1 {                                                                                \
    T x;                                                                                          \
  };                                                                                              \
  struct __attribute__((aligned(align2))) name##2 {                                               \
    T x, y;                                                                                       \
  };                                                                                              \
  struct __attribute__((aligned(align4))) name##4 {                                               \
    T x, y, z, w;                                                                                 \
  };                                                                                              \
  static inline name##1 make_##name##1(T x) { return name##1{x}; }                                \
  static inline name##2 make_##name##2(T x, T y) { return name##2{x, y}; }                        \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return name##4{x, y, z, w}; }

#define SIM_VECTOR3(T, name)                                                                      \
  struct name##3 {                                                                                \
    T x, y, z;                                                                                    \
  };                                                                                              \
  static inline name##3 make_##name##3(T x, T y, T z) { return name##3{x, y, z}; }

SIM_VECTORS(signed char, char, 2, 4)
SIM_VECTORS(unsigned char, uchar, 2, 4)
SIM_VECTORS(short, short, 4, 8)
SIM_VECTORS(unsigned short, ushort, 4, 8)
SIM_VECTORS(int, int, 8, 16)
SIM_VECTORS(unsigned int, uint, 8, 16)
SIM_VECTORS(long, long, 16, 16)
SIM_VECTORS(unsigned long, ulong, 16, 16)
SIM_VECTORS(long long, longlong, 16, 16)
SIM_VECTORS(unsigned long long, ulonglong, 16, 16)
SIM_VECTORS(float, float, 8, 16)
SIM_VECTORS(double, double, 16, 16)
SIM_VECTOR3(signed char, char)
SIM_VECTOR3(unsigned char, uchar)
SIM_VECTOR3(short, short)
SIM_VECTOR3(unsigned short, ushort)
SIM_VECTOR3(int, int)
SIM_VECTOR3(long, long)
SIM_VECTOR3(unsigned long, ulong)
SIM_VECTOR3(long long, longlong)
SIM_VECTOR3(unsigned long long, ulonglong)
SIM_VECTOR3(float, float)
SIM_VECTOR3(double, double)
static inline uint3 make_uint3(unsigned int x, unsigned int y, unsigned int z) { return uint3{x, y, z}; }

// CUDA 13's names that say the alignment.
#define SIM_ALIGNED(T, name, n) \
  struct __attribute__((aligned(n))) name##_##n##a { T x, y, z, w; };
SIM_ALIGNED(long, long4, 16) SIM_ALIGNED(long, long4, 32)
SIM_ALIGNED(unsigned long, ulong4, 16) SIM_ALIGNED(unsigned long, ulong4, 32)
SIM_ALIGNED(long long, longlong4, 16) SIM_ALIGNED(long long, longlong4, 32)
SIM_ALIGNED(unsigned long long, ulonglong4, 16) SIM_ALIGNED(unsigned long long, ulonglong4, 32)
SIM_ALIGNED(double, double4, 16) SIM_ALIGNED(double, double4, 32)
#undef SIM_ALIGNED

#undef SIM_VECTORS
#undef SIM_VECTOR3
