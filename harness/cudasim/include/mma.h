// Warp matrix functions on floats. A fragment's elements lie in an order of our own, as CUDA leaves it open; their
// number is CUDA's. Products are summed in float (double for double), which a tensor core does less exactly. A
// store waits for the whole warp before it writes.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#if defined(HARNESS_SIM_DEVICE)
namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32 {};
}  // namespace precision

// float32's bits beyond tf32's ten are dropped, after rounding away from zero in a tie.
static inline float __float_to_tf32(float x) {
  unsigned bits = sim::bits_as<unsigned>(x);
  if ((bits & 0x7f800000) != 0x7f800000) bits = (bits + 0x1000) & ~0x1fffu;
  return sim::bits_as<float>(bits);
}

namespace details {

template <class T>
struct Storage {
  using type = T;
  static double of(T x) { return double(x); }
  static T to(double x) { return T(x); }
};
template <>
struct Storage<__half> {
  using type = __half;
  static double of(__half x) { return x.as_float(); }
  static __half to(float x) { return __half::of(x); }
};
template <>
struct Storage<__nv_bfloat16> {
  using type = __nv_bfloat16;
  static double of(__nv_bfloat16 x) { return x.as_float(); }
};
// A tensor core reads the upper 19 bits of what it gets.
template <>
struct Storage<precision::tf32> {
  using type = float;
  static double of(float x) { return sim::bits_as<float>(sim::bits_as<unsigned>(x) & ~0x1fffu); }
};

template <class Use, int m, int n, int k>
struct Shape;
template <int m, int n, int k>
struct Shape<matrix_a, m, n, k> {
  static constexpr int rows = m, columns = k;
};
template <int m, int n, int k>
struct Shape<matrix_b, m, n, k> {
  static constexpr int rows = k, columns = n;
};
template <int m, int n, int k>
struct Shape<accumulator, m, n, k> {
  static constexpr int rows = m, columns = n;
};

template <int m, int n, int k>
constexpr bool is_of_16 = k == 16 && ((m == 16 && n == 16) || (m == 32 && n == 8) || (m == 8 && n == 32));
template <class T, int m, int n, int k>
constexpr bool is_operand = (is_of_16<m, n, k> && (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>)) ||
                            (m == 16 && n == 16 && k == 8 && std::is_same_v<T, precision::tf32>) ||
                            (m == 8 && n == 8 && k == 4 && std::is_same_v<T, double>);
template <class T, int m, int n, int k>
constexpr bool is_sum = (is_of_16<m, n, k> && (std::is_same_v<T, __half> || std::is_same_v<T, float>)) ||
                        (m == 16 && n == 16 && k == 8 && std::is_same_v<T, float>) ||
                        (m == 8 && n == 8 && k == 4 && std::is_same_v<T, double>);

}  // namespace details

template <class Use, int m, int n, int k, class T, class Layout = void>
class fragment {
  using Shape = details::Shape<Use, m, n, k>;
  static constexpr bool is_accumulator = std::is_same_v<Use, accumulator>;
  static_assert(is_accumulator ? details::is_sum<T, m, n, k> : details::is_operand<T, m, n, k>,
                "this fragment's shape and type can't be simulated (or is none of CUDA's)");

 public:
  using element_type = T;
  using storage_element_type = typename details::Storage<T>::type;
  static constexpr int own = Shape::rows * Shape::columns / 32;
  // CUDA keeps an operand of halves twice: 16 in each lane, whatever the shape.
  static constexpr int num_elements = !is_accumulator && std::is_same_v<T, __half> ? 16 : own;
  static constexpr int num_storage_elements = num_elements;
  storage_element_type x[num_elements];

  // The lane and place of an element, and the other way.
  static constexpr int index(int row, int column) { return row * Shape::columns + column; }
  static constexpr int row_of(int lane, int place) { return (lane * own + place % own) / Shape::columns; }
  static constexpr int column_of(int lane, int place) { return (lane * own + place % own) % Shape::columns; }
};

template <class Use, int m, int n, int k, class T, class Layout, class Value>
static inline void fill_fragment(fragment<Use, m, n, k, T, Layout>& into, const Value& value) {
  for (auto& element : into.x) element = typename fragment<Use, m, n, k, T, Layout>::storage_element_type(value);
}

namespace details {

template <class Fragment, class Element>
static inline void load(Fragment& into, const Element* from, unsigned stride, bool is_row_major) {
  for (int place = 0; place < Fragment::num_elements; place++) {
    int row = Fragment::row_of(sim::lane(), place), column = Fragment::column_of(sim::lane(), place);
    into.x[place] = from[is_row_major ? size_t(row) * stride + column : size_t(column) * stride + row];
  }
}

}  // namespace details

template <class Use, int m, int n, int k, class T, class Layout>
static inline void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& into,
                                    const typename fragment<Use, m, n, k, T, Layout>::storage_element_type* from,
                                    unsigned stride, SIM_CALLER) {
  __syncwarp(0xffffffffu, file, line);
  details::load(into, from, stride, std::is_same_v<Layout, row_major>);
}
template <int m, int n, int k, class T>
static inline void load_matrix_sync(fragment<accumulator, m, n, k, T>& into, const T* from, unsigned stride,
                                    layout_t layout, SIM_CALLER) {
  __syncwarp(0xffffffffu, file, line);
  details::load(into, from, stride, layout == mem_row_major);
}
template <int m, int n, int k, class T>
static inline void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& from, unsigned stride,
                                     layout_t layout, SIM_CALLER) {
  using Fragment = fragment<accumulator, m, n, k, T>;
  __syncwarp(0xffffffffu, file, line);
  for (int place = 0; place < Fragment::num_elements; place++) {
    int row = Fragment::row_of(sim::lane(), place), column = Fragment::column_of(sim::lane(), place);
    to[layout == mem_row_major ? size_t(row) * stride + column : size_t(column) * stride + row] = from.x[place];
  }
  __syncwarp(0xffffffffu, file, line);
}

// Each lane reads what it needs of the others' fragments while all of them stand still. To the checker these are other
// threads' local variables, so it isn't asked.
template <int m, int n, int k, class T, class LayoutA, class LayoutB, class Sum, class Start>
__attribute__((no_sanitize_thread)) static inline void mma_sync(fragment<accumulator, m, n, k, Sum>& to, const fragment<matrix_a, m, n, k, T, LayoutA>& a,
                            const fragment<matrix_b, m, n, k, T, LayoutB>& b,
                            const fragment<accumulator, m, n, k, Start>& start, SIM_CALLER) {
  using A = fragment<matrix_a, m, n, k, T, LayoutA>;
  using B = fragment<matrix_b, m, n, k, T, LayoutB>;
  using D = fragment<accumulator, m, n, k, Sum>;
  using Wide = std::conditional_t<std::is_same_v<Sum, double>, double, float>;
  struct Operands {
    const A* a;
    const B* b;
  } mine{&a, &b}, all[32];
  sim::collect(0xffffffffu, mine, all, "mma_sync", file, line);
  D result;
  for (int place = 0; place < D::num_elements; place++) {
    int row = D::row_of(sim::lane(), place), column = D::column_of(sim::lane(), place);
    Wide sum = Wide(details::Storage<Start>::of(start.x[place]));
    for (int i = 0; i < k; i++) {
      int at_a = A::index(row, i), at_b = B::index(i, column);
      Wide left = Wide(details::Storage<T>::of(all[at_a / A::own].a->x[at_a % A::own]));
      Wide right = Wide(details::Storage<T>::of(all[at_b / B::own].b->x[at_b % B::own]));
      sum += left * right;
    }
    result.x[place] = details::Storage<Sum>::to(sum);
  }
  __syncwarp(0xffffffffu, file, line);
  to = result;
}

}  // namespace nvcuda::wmma
#endif
