// 全部界面文字（中文）。
import { kUiZh } from './ui.zh';
import { kLabsZh } from './ui_labs.zh';

export const kUi = { ...kUiZh, ...kLabsZh };
