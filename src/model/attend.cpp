// Attention over a cache, its rows appended or recorded (attend.hpp).
#include "model/attend.hpp"

namespace sightline::model {

void attend(nn::Pass& pass, const kernels::AttentionShape& shape, const Segment& segment,
            std::size_t layer, ConstView query, ConstView key, ConstView value, View mixed) {
  auto& stored = std::get<KvLayer>(segment.cache->layers[layer]);
  if (segment.record == nullptr) {
    const std::int64_t first = stored.length();
    stored.append(pass, key, value);
    kernels::attention(pass, shape, query, first, stored.blocks(), mixed);
    return;
  }
  // The cache must stay as it is: a copy shares all full blocks, and only its open block is copied
  // when written.
  KvLayer extended = stored;
  extended.append(pass, key, value);
  kernels::attention(pass, shape, query, stored.length(), extended.blocks(), mixed);
  if (pass.counts_only()) return;
  StepRecord::Layer& record = segment.record->layers[layer];
  record.a.assign(key.data, key.data + key.rows * key.cols);
  record.b.assign(value.data, value.data + value.rows * value.cols);
}

void commit_rows(nn::Pass& pass, const StepRecord::Layer& record, std::int64_t recorded,
                 std::int64_t rows, KvLayer& layer) {
  const std::int64_t width = static_cast<std::int64_t>(record.a.size()) / recorded;
  layer.append(pass, {record.a.data(), rows, width}, {record.b.data(), rows, width});
}

}  // namespace sightline::model
