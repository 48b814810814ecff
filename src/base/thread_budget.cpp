// How many CPUs this process may use: the scheduler's affinity mask, cut by the CPU quota of its
// control groups. v2: cpu.max of the group and of every group above it. v1: cpu.cfs_quota_us /
// cpu.cfs_period_us likewise.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include "base/threads.hpp"

#if defined(__linux__)
#include <sched.h>
#endif

namespace sightline {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

int affinity_cpus() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
#endif
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

/// Quota over period, both in microseconds; no limit when the file says so or cannot be understood.
double ratio(const std::string& quota, const std::string& period) {
  std::istringstream first(quota);
  std::istringstream second(period);
  double used = 0;
  double of = 0;
  if (!(first >> used) || !(second >> of) || used <= 0 || of <= 0) return kUnlimited;
  return used / of;
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

double limit_v2(const std::string& folder) {  // "200000 100000" or "max 100000"
  std::istringstream fields(first_line(folder + "/cpu.max"));
  std::string quota;
  std::string period;
  fields >> quota >> period;
  return ratio(quota, period);
}

double limit_v1(const std::string& folder) {  // -1: none
  return ratio(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us"));
}

/// The smallest limit of `group` and the groups above it, below the mount point. Inside a container
/// the group's own path may not exist there; the mount point itself then is the container's group.
double smallest(const std::string& mount, std::string group, double (*limit)(const std::string&)) {
  double least = limit(mount);
  while (group.size() > 1) {
    least = std::min(least, limit(mount + group));
    group.resize(group.find_last_of('/'));
  }
  return least;
}

bool names_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

struct Quota {
  double cpus = kUnlimited;
  const char* reason = "";
};

/// Reads /proc/self/cgroup: lines "hierarchy:controllers:path", hierarchy 0 without controllers for
/// v2.
Quota cpu_quota(const std::string& root) {
  Quota best;
  const auto consider = [&](double cpus, const char* reason) {
    if (cpus < best.cpus) best = {cpus, reason};
  };
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    if (group.empty() || group.front() != '/') continue;
    const std::string mount = root + "/sys/fs/cgroup";
    if (controllers.empty()) {
      consider(smallest(mount, group, limit_v2), "cgroup v2 cpu.max");
      consider(smallest(mount + "/unified", group, limit_v2), "cgroup v2 cpu.max");
    } else if (names_cpu(controllers)) {
      for (const std::string& name :
           {controllers, std::string("cpu"), std::string("cpu,cpuacct")}) {
        consider(smallest(mount + "/" + name, group, limit_v1), "cgroup v1 cpu.cfs_quota_us");
      }
    }
  }
  return best;
}

}  // namespace

ThreadBudget available_threads(int affinity_cpus, const std::string& root) {
  ThreadBudget budget{std::max(affinity_cpus, 1), "affinity mask", false};
  const Quota quota = cpu_quota(root);
  if (!(quota.cpus < budget.count)) return budget;
  const int whole = std::max(static_cast<int>(std::ceil(quota.cpus)), 1);
  budget.quota = true;
  if (whole < budget.count) {
    budget.count = whole;
    budget.reason = quota.reason;
  }
  return budget;
}

ThreadBudget available_threads() { return available_threads(affinity_cpus(), ""); }

}  // namespace sightline
