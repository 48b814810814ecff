// All texts of the interface in English.
import { kUiEn } from './ui.en';
import { kLabsEn } from './ui_labs.en';

export const kUi = { ...kUiEn, ...kLabsEn };
