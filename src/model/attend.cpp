// Attention over a cache, its rows appended or recorded (attend.hpp).
#include "model/attend.hpp"

namespace sightline::model {

void attend(nn::Pass& pass, const kernels::AttentionShape& shape, const Segment& segment,
            std::size_t layer, const AttentionRows& rows) {
  auto& stored = std::get<KvLayer>(segment.cache->layers[layer]);
  if (segment.record == nullptr) {
    const std::int64_t first = stored.length();
    stored.append(pass, rows.key, rows.value);
    kernels::attention(pass, shape, rows.query, first, stored.blocks(), rows.mixed);
    return;
  }
  // The cache must stay as it is: a copy shares all full blocks, and only its open block is copied
  // when written.
  KvLayer extended = stored;
  extended.append(pass, rows.key, rows.value);
  kernels::attention(pass, shape, rows.query, stored.length(), extended.blocks(), rows.mixed);
  if (pass.counts_only()) return;
  StepRecord::Layer& record = segment.record->layers[layer];
  record.a.assign(rows.key.data, rows.key.data + rows.key.rows * rows.key.cols);
  record.b.assign(rows.value.data, rows.value.data + rows.value.rows * rows.value.cols);
}

void commit_rows(nn::Pass& pass, const StepRecord::Layer& record, std::int64_t recorded,
                 std::int64_t rows, KvLayer& layer) {
  const std::int64_t width = static_cast<std::int64_t>(record.a.size()) / recorded;
  layer.append(pass, {record.a.data(), rows, width}, {record.b.data(), rows, width});
}

}  // namespace sightline::model
