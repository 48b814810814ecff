// Options that several commands share: which model, how pictures are read, how the engine runs.
// Each function adds its options to a command and fills plain structs.
#pragma once

#include <optional>
#include <string>

#include "cli/command.hpp"
#include "sightline/engine.hpp"

namespace sightline::cli {

struct ModelOptions {
  std::string model;
  std::optional<std::string> revision;
  EngineOptions engine;

  /// The checkpoint's directory (resolve.hpp).
  [[nodiscard]] std::string directory() const;
};

/// Resolves and loads the model, showing progress.
Engine load_engine(const ModelOptions& options, Output& output);

/// MODEL.
void add_model(Command& command, ModelOptions& options);
/// --revision.
void add_revision(Command& command, ModelOptions& options);
/// --min-pixels, --max-pixels, --max-image-pixels, --alpha, and those of videos: --fps,
/// --num-frames, --max-frames, --video-fps, --video-pixels, --video-wrapper.
void add_picture_options(Command& command, EngineOptions& options);
/// What --isa is by default: the environment variable SIGHTLINE_ISA, or "", the best set.
std::string default_isa();
/// --threads, --isa, --no-mmap.
void add_machine_options(Command& command, EngineOptions& options);
/// --precision and --vision-precision.
void add_precision_options(Command& command, EngineOptions& options);
/// Both, and --prefill-chunk.
void add_engine_options(Command& command, EngineOptions& options);
/// --ctx.
void add_context_option(Command& command, EngineOptions& options);

}  // namespace sightline::cli
