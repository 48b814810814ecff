// From the words to a command that runs, and the one place where errors become exit codes.
#include "cli/command_line.hpp"

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/help.hpp"

namespace sightline::cli {
namespace {

const Command& find_command(const std::string& name, const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (command.name() == name) return command;
    names.push_back(command.name());
  }
  const std::string closest = closest_word(name, names);
  throw Error(Code::usage,
              fmt::format("'{}' is not a command{}; expected one of {}; see 'sightline --help'",
                          name, closest.empty() ? "" : fmt::format("; did you mean '{}'?", closest),
                          fmt::join(names, ", ")),
              {{"command", name}});
}

int dispatch(const std::vector<std::string>& arguments, const std::vector<Command>& commands,
             Output& output) {
  const std::string first = arguments.empty() ? "--help" : arguments.front();
  if (asks_for_help({first}) || (first == "help" && arguments.size() == 1)) {
    output.write(overview_page(commands));
    return arguments.empty() ? exit_code(Domain::usage) : kDone;
  }
  if (first == "help") {
    output.write(help_page(find_command(arguments[1], commands)));
    return kDone;
  }
  const Command& command = find_command(first == "--version" ? "version" : first, commands);
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (asks_for_help(rest)) {
    output.write(help_page(command));
    return kDone;
  }
  read_arguments(command, rest);
  return command.run(output);
}

/// report_error(), which can fail itself: a closed pipe ends quietly; where standard output takes
/// nothing more, standard error does.
int report_last(const Error& error, Output& output) noexcept {
  try {
    (void)report_error(error, output);
    output.flush();
  } catch (const BrokenPipe&) {
  } catch (const std::exception&) {
    output.notice(error_line(error) + "\n");
  }
  return exit_code(error.domain());
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments,
                     const std::vector<Command>& commands, Output& output) {
  try {
    const int code = dispatch(arguments, commands, output);
    output.flush();
    return code;
  } catch (const BrokenPipe&) {
    return kDone;
  } catch (const Error& error) {
    return report_last(error, output);
  } catch (const std::bad_alloc&) {
    return report_last(Error(Code::memory_limit, "out of memory"), output);
  } catch (const std::exception& error) {
    return report_last(Error(Code::internal, fmt::format("{}; this is a bug in sightline, please "
                                                         "report it with the command",
                                                         error.what())),
                       output);
  }
}

int report_error(const Error& error, Output& output) {
  if (output.json()) {
    output.line(error_json(error));
  } else {
    output.notice(error_line(error) + "\n");
  }
  return exit_code(error.domain());
}

io::Json error_body(const Error& error) {
  io::Json context = io::Json::object();
  for (const auto& [key, value] : error.context()) {
    if (context.find(key) == nullptr) context.add(key, value);
  }
  io::Json body = io::Json::object();
  body.add("code", code_name(error.code()));
  body.add("message", error.what());
  body.add("context", std::move(context));
  return body;
}

std::string error_json(const Error& error) {
  return io::to_json_text(io::Json::Object{{"error", error_body(error)}});
}

std::string error_line(const Error& error) {
  return fmt::format("sightline: {}: {}", code_name(error.code()), single_line(error.what()));
}

}  // namespace sightline::cli
