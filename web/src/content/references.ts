// What the guide's statements rest on. A revision that nobody recorded is said to be so.

import type { Lang } from '../lang';

export type ReferenceKind = 'code' | 'config' | 'card' | 'own';

export interface Reference {
  kind: ReferenceKind;
  title: string;
  zh?: string; // title in Chinese, where it is no name of code
  repository: string;
  revision: string;
  path: string;
  lines: string;
  checked: string;
}

const kPin = 'transformers 5.24.0 (wheel sha256 ff5ebedf…7486f6)';
const kChecked = '2026-12-01';
const code = (title: string, path: string, lines = ''): Reference => ({
  kind: 'code', title, repository: 'huggingface/transformers', revision: kPin, path: `src/transformers/models/${path}`, lines,
  checked: kChecked,
});
const own = (title: string, zh: string, path: string): Reference => ({
  kind: 'own', title, zh, repository: 'sightline', revision: 'this build', path, lines: '', checked: kChecked,
});

export const kReferences = {
  'qwen-image-size': code('smart_resize', 'qwen2_vl/image_processing_pil_qwen2_vl.py', '58'),
  'qwen-patches': code('get_number_of_image_patches', 'qwen2_vl/image_processing_pil_qwen2_vl.py'),
  'qwen-video-size': code('smart_resize (video)', 'qwen3_vl/video_processing_qwen3_vl.py', '75'),
  'qwen-video-patches': code('sample_frames, patchify', 'qwen3_vl/video_processing_qwen3_vl.py', '225'),
  'gemma-size': code('get_aspect_ratio_preserving_size', 'gemma4/image_processing_pil_gemma4.py', '36'),
  'gemma-tokens': code('_get_num_multimodal_tokens', 'gemma4/processing_gemma4.py'),
  'gemma-unified': code('Gemma4Unified', 'gemma4_unified/modeling_gemma4_unified.py', '815'),
  processor: code('Qwen3VLProcessor', 'qwen3_vl/processing_qwen3_vl.py'),
  vision: code('Qwen3_5VisionModel', 'qwen3_5/modeling_qwen3_5.py', '1117'),
  merger: code('Qwen3_5VisionPatchMerger', 'qwen3_5/modeling_qwen3_5.py', '974'),
  model: code('Qwen3_5Model', 'qwen3_5/modeling_qwen3_5.py', '1293'),
  insertion: code('masked_scatter', 'qwen3_5/modeling_qwen3_5.py', '1618'),
  'rope-index': code('Qwen3_5Model.get_rope_index', 'qwen3_5/modeling_qwen3_5.py'),
  deepstack: code('Qwen3VLVisionModel, deepstack_merger_list', 'qwen3_vl/modeling_qwen3_vl.py'),
  'delta-rule': code('Qwen3_5GatedDeltaNet', 'qwen3_5/modeling_qwen3_5.py'),
  config: {
    kind: 'config', title: 'config.json', repository: 'Qwen, Google (Hugging Face)',
    revision: 'not recorded', path: 'config.json, preprocessor_config.json, video_preprocessor_config.json', lines: '', checked: kChecked,
  },
  'config-copy': {
    kind: 'config', title: 'Vision values of Qwen3-VL-32B, text widths of Gemma 4: class values or copies',
    zh: 'Qwen3-VL-32B 的视觉参数、Gemma 4 的文本宽度：类默认值或副本', repository: 'several',
    revision: 'not recorded', path: 'config.json', lines: '', checked: kChecked,
  },
  card: {
    kind: 'card', title: 'Model card of Qwen3.5', zh: 'Qwen3.5 的模型卡', repository: 'Qwen (Hugging Face)', revision: 'not recorded', path: 'README.md', lines: '',
    checked: '2026-11-03',
  },
  'own-rule': own('Arithmetic of sightline', 'sightline 的算术', 'src/calc/calculator.cpp'),
  'own-trace': own('sightline trace, run while this site was built', '建站时运行的 sightline trace', 'docs/trace.md'),
  'own-merge': own('sightline merge, run while this site was built', '建站时运行的 sightline merge', 'src/audit/merge_proof.cpp'),
  'own-models': own('sightline models --json: parameters counted from the configurations', 'sightline models --json：由配置数出的参数量', 'src/audit/parameters.cpp'),
  'own-patches': own('Order of patches', '图块的次序', 'src/calc/patch_order.hpp'),
} satisfies Record<string, Reference>;

const kWordsZh: Record<string, string> = { 'not recorded': '未记录', 'this build': '本次构建', several: '多处' };

/** Repository or revision of a reference in a language; names stay as they are. */
export const word_of = (text: string, lang: Lang) => (lang === 'zh' && kWordsZh[text]) || text;

/** Title of a reference in a language. */
export const title_of = (entry: Reference, lang: Lang) => (lang === 'zh' && entry.zh ? entry.zh : entry.title);

export type ReferenceId = keyof typeof kReferences;
