#define HARNESS_SIM_DEVICE 1
#include "report.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <vector>

#include "worker.h"

namespace sim {
namespace {

struct Finding {
  std::string kind, detail, kernel;
  Source source;
  uint3 block, thread;
  long count;
  bool awaits_check;
  std::vector<void*> callers;
  void* other = nullptr;
  std::string code;  // the line that `source` names, as the text had it by then
  std::string counted_as;
};

constexpr size_t max_findings = 200;

std::mutex mutex;
std::vector<Finding> findings;
long launches = 0;
// Since the process began, taken or not: whoever takes a report besides the harness leaves a gap between these and the
// sum of what it was told.
struct {
  long launches = 0, traces = 0, atomics = 0;
  std::map<std::string, long> findings;  // by kind, and by place where it counts for what it is
} totals;
bool is_tracing = false;
void (*at_trace)(int) = nullptr;
// Kernels and operators since the trace began, by name; no report takes them away.
struct Runs {
  long count = 0;
  int64_t elements = 0;  // of the tensors that an operator was given
  int64_t blocks = 0;  // of a kernel's grids
  int64_t last = 0;  // the place of the latest of them among all
};
std::map<std::string, Runs> ran;
int64_t noted = 0;
int last_error = cudaSuccess;
int sticky_error = cudaSuccess;
std::string launch_problem;
std::map<std::string, std::string> sources;  // texts by file; none where a file had two

std::string line_of(const Source& source) {
  auto known = sources.find(source.file);
  if (known == sources.end()) return "";
  std::istringstream text(known->second);
  std::string line;
  for (int number = 0; number < source.line; number++)
    if (!std::getline(text, line)) return "";
  constexpr const char* blanks = " \t\r\f\v";
  auto begin = line.find_first_not_of(blanks);
  return begin == std::string::npos ? "" : line.substr(begin, line.find_last_not_of(blanks) + 1 - begin);
}

// Whether it is a fault or a remark is told by the line that it happened in, so that line is part of what it counts as.
std::string name_for_totals(const Finding& finding) {
  bool is_told_by_its_line = finding.kind == "signed-overflow" || finding.kind == "array-index-out-of-bounds";
  if (!is_told_by_its_line || !finding.source.line) return finding.kind;
  return finding.kind + " at " + finding.source.file + ':' + std::to_string(finding.source.line) + ": " + finding.code;
}

void count_again(Finding& known) {
  known.count++;
  totals.findings[known.counted_as]++;
}

void add(Finding finding) {
  for (auto& known : findings)
    if (known.kind == finding.kind && known.kernel == finding.kernel && known.source.line == finding.source.line &&
        known.source.instruction == finding.source.instruction && known.awaits_check == finding.awaits_check) {
      count_again(known);
      return;
    }
  if (findings.size() >= max_findings) return;
  if (finding.source.line) finding.code = line_of(finding.source);
  finding.counted_as = name_for_totals(finding);
  totals.findings[finding.counted_as]++;
  findings.push_back(std::move(finding));
}

void note_run(const std::string& name, int64_t elements, int64_t blocks) {
  if (!is_tracing) return;
  Runs& runs = ran[name];
  runs.count++;
  runs.elements += elements;
  runs.blocks += blocks;
  runs.last = ++noted;
}

void append_string(std::string& json, const std::string& text) {
  json += '"';
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    if (c == '\n') json += "\\n";
    else json += c < 32 ? ' ' : static_cast<char>(c);
  }
  json += '"';
}

std::string json_of(long count) { return std::to_string(count); }

std::string json_of(const Runs& runs) {
  std::string json;
  for (int64_t number : {static_cast<int64_t>(runs.count), runs.elements, runs.blocks, runs.last})
    json += (json.empty() ? '[' : ',') + std::to_string(number);
  return json + ']';
}

template <class Value>
void append_by_name(std::string& json, const std::map<std::string, Value>& values) {
  json += '{';
  for (auto entry = values.begin(); entry != values.end(); ++entry) {
    if (entry != values.begin()) json += ',';
    append_string(json, entry->first);
    json += ':' + json_of(entry->second);
  }
  json += '}';
}

// All texts where there is something to quote.
void append_sources(std::string& json) {
  json += '{';
  for (auto& [file, text] : sources) {
    if (findings.empty()) break;
    if (json.back() != '{') json += ',';
    append_string(json, file);
    json += ':';
    append_string(json, text);
  }
  json += '}';
}

void append_index(std::string& json, const uint3& index) {
  json += '[' + std::to_string(index.x) + ',' + std::to_string(index.y) + ',' + std::to_string(index.z) + ']';
}

// After others or none.
void append_place(std::string& json, void* instruction) {
  Dl_info library{};
  if (!dladdr(instruction, &library) || !library.dli_fname) return;
  if (json.back() == '}') json += ',';
  auto offset = static_cast<char*>(instruction) - static_cast<char*>(library.dli_fbase);
  json += "{\"library\":";
  append_string(json, library.dli_fname);
  json += ",\"offset\":" + std::to_string(offset) + '}';
}

// Innermost first.
void append_trace(std::string& json, const Finding& finding) {
  std::vector<void*> instructions;
  if (finding.source.instruction) instructions.push_back(finding.source.instruction);
  instructions.insert(instructions.end(), finding.callers.begin(), finding.callers.end());
  json += ",\"trace\":[";
  for (auto* instruction : instructions) append_place(json, instruction);
  json += "],\"other\":[";
  if (finding.other) append_place(json, finding.other);
  json += ']';
}

void append_finding(std::string& json, const Finding& finding) {
  json += "{\"kind\":";
  append_string(json, finding.kind);
  json += ",\"detail\":";
  append_string(json, finding.detail);
  json += ",\"kernel\":";
  append_string(json, finding.kernel);
  json += ",\"file\":";
  append_string(json, finding.source.file);
  json += ",\"line\":" + std::to_string(finding.source.line) + ",\"count\":" + std::to_string(finding.count);
  json += ",\"code\":";
  append_string(json, finding.code);
  json += ",\"block\":";
  append_index(json, finding.block);
  json += ",\"thread\":";
  append_index(json, finding.thread);
  append_trace(json, finding);
  json += '}';
}

void withdraw_checked() {
  auto checked = [](const Finding& finding) { return finding.awaits_check; };
  for (auto& finding : findings)
    if (finding.awaits_check) totals.findings[finding.counted_as] -= finding.count;
  findings.erase(std::remove_if(findings.begin(), findings.end(), checked), findings.end());
}

}  // namespace

std::string index_text(uint64_t number, const dim3& size) {
  auto [x, y, z] = std::array{number % size.x, number / size.x % size.y, number / (uint64_t(size.x) * size.y)};
  return '[' + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) + ']';
}

void report(const char* kind, const std::string& detail, const Source& source, const std::vector<void*>& callers,
            void* other) {
  std::lock_guard<std::mutex> guard(mutex);
  const char* kernel = worker && worker->launch ? worker->launch->kernel : "";
  add({kind, detail, kernel, source, blockIdx, threadIdx, 1, false, callers, other});
}

bool report_again(const char* kind, void* instruction) {
  std::lock_guard<std::mutex> guard(mutex);
  auto is_same = [&](const Finding& known) {
    return known.source.instruction == instruction && known.kind == kind && known.kernel == worker->launch->kernel;
  };
  auto known = std::find_if(findings.begin(), findings.end(), is_same);
  if (known == findings.end()) return false;
  count_again(*known);
  return true;
}

void raise_sticky(cudaError_t error) {
  std::lock_guard<std::mutex> guard(mutex);
  sticky_error = last_error = error;
}

void raise_launch_error(cudaError_t error, const std::string& detail, const char* kernel, const Source& source) {
  std::lock_guard<std::mutex> guard(mutex);
  last_error = error;
  launch_problem = detail;
  add({"launch-error", detail, kernel, source, {0, 0, 0}, {0, 0, 0}, 1, true, {}});
}

void report_argument(const char* kind, int position, const std::string& memory, const char* kernel,
                     const Source& source) {
  std::lock_guard<std::mutex> guard(mutex);
  add({kind, "argument " + std::to_string(position) + " of the kernel points to " + memory, kernel, source,
       {0, 0, 0}, {0, 0, 0}, 1, false, {}});
}

void count_launch(const std::string& kernel, int64_t blocks) {
  std::lock_guard<std::mutex> guard(mutex);
  launches++;
  totals.launches++;
  note_run(kernel, 0, blocks);
}

void count_atomics() {
  std::lock_guard<std::mutex> guard(mutex);
  totals.atomics++;
}

}  // namespace sim

using namespace sim;

extern "C" {

cudaError_t sim_last_error(int clear) {
  std::lock_guard<std::mutex> guard(mutex);
  int error = last_error;
  if (error != cudaSuccess) withdraw_checked();
  if (clear) last_error = sticky_error;
  return static_cast<cudaError_t>(error);
}

void sim_set_last_error(int error) {
  std::lock_guard<std::mutex> guard(mutex);
  last_error = error;
}

cudaError_t sim_sticky_error(void) {
  std::lock_guard<std::mutex> guard(mutex);
  return static_cast<cudaError_t>(sticky_error);
}

const char* sim_last_launch_problem(void) { return launch_problem.c_str(); }

const char* sim_error_string(int error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
    case cudaErrorLaunchTimeout: return "the launch timed out and was terminated";
    case cudaErrorAssert: return "device-side assert triggered";
    case cudaErrorMisalignedAddress: return "misaligned address";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorNotSupported: return "operation not supported";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    default: return "unknown error";
  }
}

void sim_count_operator(const char* name, int64_t elements) {
  std::lock_guard<std::mutex> guard(mutex);
  note_run(name, elements, 0);
}

int64_t sim_next_place(void) {
  std::lock_guard<std::mutex> guard(mutex);
  return ++noted;
}

void sim_trace(int is_on) {
  if (at_trace) at_trace(is_on);
  std::lock_guard<std::mutex> guard(mutex);
  is_tracing = is_on != 0;
  ran.clear();
  if (is_tracing) totals.traces++;
}

void sim_at_trace(void (*hook)(int)) { at_trace = hook; }

bool sim_add_source(const char* file, const char* text) {
  std::lock_guard<std::mutex> guard(mutex);
  auto known = sources.emplace(file, text).first;
  if (known->second != text) known->second.clear();  // whoever can call this could say what a line is
  return true;
}

void sim_note_gap(const char* construct) { report("beyond-simulator", construct, {}); }

void sim_note_stream(const char* made_by) {
  static std::mutex noting;
  static std::set<std::string> noted;  // once is enough
  std::lock_guard<std::mutex> guard(noting);
  if (noted.insert(made_by).second)
    report("stream-order", std::string(made_by) + ": a GPU may run that work sooner or later than the simulator", {});
}

const char* sim_take_report(void) {
  static std::string json;
  std::lock_guard<std::mutex> guard(mutex);
  json = "{\"findings\":[";
  for (size_t i = 0; i < findings.size(); i++) {
    if (i) json += ',';
    append_finding(json, findings[i]);
  }
  json += "],\"launches\":" + std::to_string(launches) + ",\"ran\":";
  if (is_tracing) append_by_name(json, ran);
  else json += "null";
  json += ",\"totals\":{\"launches\":" + std::to_string(totals.launches) +
          ",\"traces\":" + std::to_string(totals.traces) + ",\"atomics\":" + std::to_string(totals.atomics) +
          ",\"findings\":";
  append_by_name(json, totals.findings);
  json += "},\"sources\":";
  append_sources(json);
  json += '}';
  findings.clear();
  launches = 0;
  return json.c_str();
}

void sim_reset_errors(void) {
  std::lock_guard<std::mutex> guard(mutex);
  last_error = sticky_error = cudaSuccess;
  launch_problem.clear();
}
}
