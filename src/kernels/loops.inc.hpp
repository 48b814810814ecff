// Included by every file that provides products, inside its namespace and region, before the
// .inc.hpp files with their loops: what those loops share.

constexpr std::int64_t at_most(std::int64_t n, std::int64_t limit) { return n < limit ? n : limit; }

/// Asks for a cache line. The address may lie behind the last weight (so it is no pointer); this
/// never faults.
inline void fetch(std::uintptr_t address) {
  __builtin_prefetch(reinterpret_cast<const void*>(address), 0, 2);
}

/// f.operator()<N>() for n, 1 to 4.
template <class F>
inline void with_count(std::int64_t n, const F& f) {
  switch (n) {
    case 4:
      return f.template operator()<4>();
    case 3:
      return f.template operator()<3>();
    case 2:
      return f.template operator()<2>();
    default:
      return f.template operator()<1>();
  }
}

/// The bias of a product, if it has one, to all of y.
template <class Product>
inline void add_bias(const Product& p) {
  for (std::int64_t r = 0; p.bias != nullptr && r < p.rows; ++r) {
    for (std::int64_t o = 0; o < p.outs; ++o) p.y[r * p.y_stride + o] += p.bias[o];
  }
}
