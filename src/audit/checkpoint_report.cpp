// Classes, types and use of tensors (checkpoint_report.hpp); values are read in check_values.cpp.
#include "audit/checkpoint_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "audit/module_tree.hpp"
#include "io/file.hpp"

namespace sightline::audit {
namespace {

constexpr std::string_view kModelSuffix = "ForConditionalGeneration";

std::string processor_class(const Subject& subject) {
  if (subject.member != nullptr) return std::string(kPublishedProcessor);
  if (!subject.directory) return {};
  for (const char* name :
       {"processor_config.json", "preprocessor_config.json", "tokenizer_config.json"}) {
    const std::string file = *subject.directory + "/" + name;
    if (!io::has_file(file)) continue;
    const io::Json json = io::read_json_file(file, Code::invalid_processor);
    const io::Json* entry = json.find("processor_class");
    if (entry != nullptr && entry->is_string()) return entry->as_string();
  }
  return {};
}

/// Every tensor of the checkpoint; of a declared model, those that it claims and its mtp.* ones.
std::vector<io::ClaimedTensor> all_tensors(const model::ModelInfo& info,
                                           const io::Checkpoint* stored) {
  std::vector<io::ClaimedTensor> tensors;
  if (stored == nullptr) {
    tensors = info.report.tensors;
    for (const io::NamedShape& tensor : info.mtp)
      tensors.push_back({tensor.name, "no file", DType::bf16, tensor.shape, {}, {}});
    return tensors;
  }
  std::map<std::string_view, const io::ClaimedTensor*> claimed;
  for (const io::ClaimedTensor& tensor : info.report.tensors) claimed.emplace(tensor.name, &tensor);
  for (const std::string_view name : stored->names()) {
    if (const auto found = claimed.find(name); found != claimed.end()) {
      tensors.push_back(*found->second);
      continue;
    }
    const io::StoredTensor tensor = *stored->find(name);
    tensors.push_back(
        {std::string(name), std::string(tensor.file), tensor.dtype, tensor.shape, {}, {}});
  }
  return tensors;
}

std::vector<DtypeUse> dtypes_of(const std::vector<io::ClaimedTensor>& tensors) {
  std::map<DType, DtypeUse> uses;
  for (const io::ClaimedTensor& tensor : tensors) {
    DtypeUse& use = uses[tensor.dtype];
    use.dtype = tensor.dtype;
    ++use.tensors;
    use.parameters += tensor.parameters();
    use.bytes += tensor.bytes();
  }
  std::vector<DtypeUse> sorted;
  for (const auto& [dtype, use] : uses) sorted.push_back(use);
  std::sort(sorted.begin(), sorted.end(),
            [](const DtypeUse& a, const DtypeUse& b) { return a.parameters > b.parameters; });
  return sorted;
}

std::vector<StorageUse> storage_of(const std::vector<io::ClaimedTensor>& claimed) {
  std::map<std::string_view, StorageUse> uses;
  for (const io::ClaimedTensor& tensor : claimed) {
    if (tensor.stored.empty()) continue;
    StorageUse& use = uses[tensor.stored];
    use.stored = tensor.stored;
    ++use.weights;
    use.parameters += tensor.parameters();
  }
  std::vector<StorageUse> sorted;
  for (const auto& [stored, use] : uses) sorted.push_back(use);
  std::stable_sort(sorted.begin(), sorted.end(), [](const StorageUse& a, const StorageUse& b) {
    return a.parameters > b.parameters;
  });
  return sorted;
}

std::vector<Finding> odd_dtypes(const std::vector<io::ClaimedTensor>& tensors, DType expected,
                                bool quantised) {
  std::vector<Finding> findings;
  for (const io::ClaimedTensor& tensor : tensors) {
    // Of a quantised checkpoint, those that are used and not part of a packed weight.
    if (quantised && (tensor.packed_parameters || tensor.stored.empty())) continue;
    const bool wide = tensor.dtype == DType::f32 && io::published_as_float32(tensor.name);
    if (tensor.dtype == expected || wide) continue;
    findings.push_back({Finding::Kind::dtype, tensor.name, tensor.file, 0,
                        fmt::format("expected {}, found {}", io::dtype_name(expected),
                                    io::dtype_name(tensor.dtype))});
  }
  return findings;
}

void compare_mtp(const model::ModelInfo& info, const io::Checkpoint& stored,
                 CheckpointReport& report) {
  std::map<std::string_view, Shape> published;
  for (const io::NamedShape& tensor : info.mtp) {
    published.emplace(tensor.name, tensor.shape);
    if (!stored.contains(tensor.name)) report.mtp_missing.push_back(tensor.name);
  }
  for (const std::string& name : info.report.ignored) {
    const auto found = published.find(name);
    if (found == published.end() || found->second != stored.find(name)->shape)
      report.mtp_other.push_back(name);
  }
}

}  // namespace

std::string_view finding_name(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::zero_rows:
      return "zero_rows";
    case Finding::Kind::non_finite:
      return "non_finite";
    case Finding::Kind::dtype:
      break;
  }
  return "dtype";
}

std::optional<DType> dtype_of_config(const io::Json& config) {
  const io::Json* text = config.find("text_config");
  for (const io::Json* object : {text, &config}) {
    if (object == nullptr) continue;
    for (const char* key : {"dtype", "torch_dtype"}) {
      const io::Json* value = object->find(key);
      if (value == nullptr || !value->is_string()) continue;
      if (value->as_string() == "bfloat16") return DType::bf16;
      if (value->as_string() == "float16") return DType::f16;
      if (value->as_string() == "float32") return DType::f32;
    }
  }
  return std::nullopt;
}

CheckpointReport report_checkpoint(const Subject& subject, const model::VisionLanguageModel& model,
                                   const io::Checkpoint* stored) {
  const model::ModelInfo& info = model.info();
  CheckpointReport report;
  std::string name = module_tree(info.report).class_name;
  if (name.ends_with(kModelSuffix)) name.resize(name.size() - kModelSuffix.size());
  report.config_class = name + "Config";
  report.model_type = info.model_type;
  if (const io::Json* list = subject.config.find("architectures"); list != nullptr) {
    for (const io::Json& entry : list->is_array() ? list->as_array() : io::Json::Array{}) {
      if (entry.is_string()) report.architectures.push_back(entry.as_string());
    }
  }
  report.processor_class = processor_class(subject);
  const std::vector<io::ClaimedTensor> tensors = all_tensors(info, stored);
  report.dtypes = dtypes_of(tensors);
  report.quantisation = info.report.quantisation;
  report.storage = storage_of(info.report.tensors);
  std::vector<io::ClaimedTensor> plain;
  std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(plain),
               [](const io::ClaimedTensor& tensor) { return !tensor.packed_parameters; });
  const std::vector<DtypeUse> types = dtypes_of(plain);
  const DType most = types.empty() ? DType::bf16 : types.front().dtype;
  report.loaded_as = dtype_of_config(subject.config).value_or(most);
  report.findings = odd_dtypes(tensors, report.loaded_as, !report.quantisation.empty());
  report.tied_head = info.tied_head;
  report.skipped = info.report.skipped;
  if (stored == nullptr) {
    report.used = static_cast<std::int64_t>(info.report.tensors.size());
    report.ignored = static_cast<std::int64_t>(info.mtp.size());
  } else {
    report.shards = stored->shards();
    report.used = info.report.used;
    report.ignored = info.report.ignored_mtp;
    compare_mtp(info, *stored, report);
  }
  return report;
}

}  // namespace sightline::audit
