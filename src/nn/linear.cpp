// Linear and Embedding (linear.hpp).
#include "nn/linear.hpp"

#include <fmt/format.h>

#include "kernels/matmul.hpp"

namespace sightline::nn {

Linear Linear::load(const io::Loader& loader, std::int64_t out, std::int64_t in, Bias bias) {
  return load(loader, Shape{out, in}, bias, linear_site(loader, out, in, bias));
}

Site Linear::linear_site(const io::Loader& loader, std::int64_t out, std::int64_t in, Bias bias) {
  return loader.site("Linear", fmt::format("in_features={}, out_features={}, bias={}", in, out,
                                           bias == Bias::stored ? "True" : "False"));
}

Linear Linear::load(const io::Loader& loader, const Shape& weight, Bias bias, Site site) {
  Linear linear;
  linear.site = std::move(site);
  linear.weight = loader.weight("weight", weight);
  if (bias == Bias::stored) linear.bias = loader.values("bias", Shape{weight[0]});
  return linear;
}

void Linear::operator()(Pass& pass, ConstView x, View y, const Where& where) const {
  Span span{pass, site, where};
  span.in("input", x);
  kernels::matmul(pass, x, weight, bias.empty() ? nullptr : bias.data(), y);
  span.out(y);
}

Embedding Embedding::load(const io::Loader& loader, std::int64_t rows, std::int64_t width) {
  Embedding embedding;
  embedding.site = loader.site("Embedding", fmt::format("{}, {}", rows, width));
  embedding.weight = loader.weight("weight", Shape{rows, width});
  return embedding;
}

void Embedding::operator()(Pass& pass, std::span<const std::int32_t> ids, View y,
                           const Where& where) const {
  Span span{pass, site, where};
  if (span.tracing()) {
    const std::vector<std::int64_t> wide(ids.begin(), ids.end());
    TensorRef input{
        "input", DType::i64, {}, reinterpret_cast<const std::byte*>(wide.data()), y.rows};
    if (site.batched) input.shape.push(1);
    input.shape.push(y.rows);
    span.in(input);
  }
  // Only the rows that are taken count as read.
  const std::int64_t row_bytes = weight.row_bytes();
  const std::int64_t written = y.rows * y.cols * dtype_size(DType::f32);
  if (!pass.count({0, y.rows * row_bytes, written})) {
    for (std::int64_t r = 0; r < y.rows; ++r)
      kernels::widen_row(weight, ids[static_cast<std::size_t>(r)], y.row(r));
  }
  span.out(y);
}

}  // namespace sightline::nn
