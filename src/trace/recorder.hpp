// Recorder: turns the module calls of a run into named tensors and hands them to a sink, while the
// run goes on. Keys are those of every trace file: `trace/PATH` is a module's output in its first
// call, `#k` marks further calls (k = 1, 2, …), `|in` the first input, `|NAME` further inputs and
// values inside the module. One run, one thread; the sink is borrowed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sightline/trace.hpp"

namespace sightline::trace {

/// What every trace key begins with.
inline constexpr std::string_view kKeyPrefix = "trace/";

/// The key of a value of module `path` in its call number `call` (0 is the first); `port` is "" for
/// the output.
std::string key_of(std::string_view path, std::int64_t call, std::string_view port = {});

/// True if one of the patterns of RecordOptions::paths selects this NAME or NAME|PORT.
bool selects(const std::vector<std::string>& patterns, std::string_view name);

/// What keys call a module or operation: "model.visual", "model.masked_scatter".
std::string name_of(const Site& site);

/// True if `pattern` matches the whole of `text`: `*` is any run of characters (dots too), `?` any
/// one character.
bool glob_match(std::string_view pattern, std::string_view text);

/// Receives recorded tensors in call order. `tensor` is valid during the call only; its rows may be
/// strided.
class TensorSink {
 public:
  virtual ~TensorSink() = default;
  virtual void put(const std::string& key, const TensorRef& tensor) = 0;
};

struct RecordOptions {
  /// Globs on module names (none: every module); one with a "|" selects values instead, by
  /// NAME|PORT: "*.merger|in", "*.self_attn|q_rope". The options below do not matter for those.
  std::vector<std::string> paths;
  bool outputs = true, inputs = false, inner = false;
};

class Recorder final : public Trace {
 public:
  Recorder(RecordOptions options, TensorSink& sink) : options_(std::move(options)), sink_(sink) {}

  void enter(const Site& site, const std::source_location& caller,
             const std::source_location& callee) override;
  void input(const Site& site, const TensorRef& tensor) override;
  void note(const Site& site, const TensorRef& tensor) override;
  void output(const Site& site, const TensorRef& tensor) override;
  void leave(const Site& site) override;

 private:
  struct Call {
    std::string name;
    std::int64_t number = 0, inputs = 0;
  };
  bool is_wanted(const std::string& name);
  void put(bool enabled, std::string_view port, const TensorRef& tensor);

  RecordOptions options_;
  TensorSink& sink_;
  std::vector<Call> open_;                                 // calls that have not been left
  std::unordered_map<std::string, std::int64_t> calls_;    // by name
  std::unordered_map<std::string, bool> wanted_;           // by name, or NAME|PORT
  std::unordered_map<std::string, std::int64_t> repeats_;  // by key: a port seen again in one call
};

}  // namespace sightline::trace
