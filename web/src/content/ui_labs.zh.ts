// 各实验台的文字（中文）。键与英文文件一致。
import type { kLabsEn } from './ui_labs.en';

export const kLabsZh: Record<keyof typeof kLabsEn, string> = {
  lead_calculator: '从图片或视频的边长，算到语言模型读到的 token，规则取自各模型自己的处理器。',
};
