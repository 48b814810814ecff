// `sightline version`: version, kernel sets and threads of this machine, how the binary was built.
#include <fmt/format.h>

#include "base/cpu.hpp"
#include "base/threads.hpp"
#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "io/json.hpp"
#include "kernels/kernels.hpp"

namespace sightline::cli {
namespace {

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

#if defined(__x86_64__)
constexpr const char* kArchitecture = "x86_64";
#elif defined(__aarch64__)
constexpr const char* kArchitecture = "aarch64";
#else
constexpr const char* kArchitecture = "unknown";
#endif

constexpr const char* kBuildType = SIGHTLINE_BUILD_TYPE;

io::Json version_json() {
  io::Json sets = io::Json::array();
  for (const kernels::SetInfo& set : kernels::list_sets()) {
    sets.push(io::Json::Object{{"name", set.name},
                               {"available", set.available},
                               {"needs", set.needs},
                               {"twin", set.twin}});
  }
  const ThreadBudget threads = available_threads();
  return io::Json::Object{{"version", SIGHTLINE_VERSION},
                          {"kernel_set", kernels::name_of(kernels::select(""))},
                          {"kernel_sets", std::move(sets)},
                          {"kernel_set_refused", kernels::refused_set()},
                          {"cpu", describe(cpu_features())},
                          {"threads", threads.count},
                          {"threads_reason", threads.reason},
                          {"build", io::Json::Object{{"compiler", kCompiler},
                                                     {"type", kBuildType},
                                                     {"architecture", kArchitecture}}}};
}

std::string version_text() {
  std::string text = fmt::format("sightline {}\nkernel sets:\n", SIGHTLINE_VERSION);
  const std::string_view best = kernels::name_of(kernels::select(""));
  for (const kernels::SetInfo& set : kernels::list_sets()) {
    std::string needs = set.needs.empty() ? "any CPU" : fmt::format("needs {}", set.needs);
    if (set.twin) needs += "; tile products in plain C++, for tests";
    text += fmt::format("  {:<17}{} ({})\n", set.name,
                        set.name == best ? "default here"
                        : set.available  ? "available"
                                         : "not on this machine",
                        needs);
  }
  if (!kernels::refused_set().empty()) text += fmt::format("  note: {}\n", kernels::refused_set());
  const ThreadBudget threads = available_threads();
  return text + fmt::format("cpu: {}\nthreads: {} ({})\nbuild: {}, {}, {}\n",
                            describe(cpu_features()), threads.count, threads.reason, kCompiler,
                            kBuildType, kArchitecture);
}

}  // namespace

Command version_command() {
  Command command("version", "version, kernel sets of this machine, build");
  command.example("sightline version", "what this machine can run")
      .example("sightline version --json", "the same for programs")
      .action([](Output& output) {
        output.write(output.json() ? io::to_json_text(version_json()) + "\n" : version_text());
        return 0;
      });
  return command;
}

}  // namespace sightline::cli
