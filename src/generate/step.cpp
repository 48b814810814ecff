// Embedding, one step row, its logits (step.hpp).
#include "generate/step.hpp"

namespace sightline::generate {

void step(const model::VisionLanguageModel& model, nn::Pass& pass, model::Cache& cache,
          std::int32_t id, std::span<float> logits) {
  const ArenaScope scope(pass.arena);
  const View row = pass.arena.matrix(1, model.info().hidden_size);
  model.embed(pass, {&id, 1}, row);
  nn::Positions position;
  const auto p = static_cast<std::int32_t>(cache.length + cache.rope_delta);
  position.push(p, p, p);
  const std::int64_t wanted = 0;
  const model::Segment segment{&cache,       0,      1, &position, 0, model::RowKind::step,
                               {&wanted, 1}, nullptr};
  const model::ForwardResult out{{logits.data(), 1, static_cast<std::int64_t>(logits.size())}, {}};
  model.forward(pass, row, {&segment, 1}, out);
}

}  // namespace sightline::generate
