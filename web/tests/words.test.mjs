// Both languages say the same: keys, figures, code and links of every text. Protects: a number that changed in one
// language only, and a text that was never translated.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { all_texts } from '../generated/server/server.js';

const kHan = /\p{Script=Han}/gu;
const kLetters = /\p{L}/gu;
const kLeastHan = 0.3; // of the letters of all Chinese texts
const sorted = (list) => [...(list ?? [])].sort();
const figures = (text) => sorted(text.match(/\{[\w.:-]+\}|(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-])/g));
const codes = (text) => sorted(text.match(/`[^`]+`/g));
const links = (text) => sorted(text.match(/\]\([^)]+\)/g));
const same_in_both = (text) => /^[^\p{L}]*$/u.test(text) || /^[\x00-\x7f⁰×→·⌊⌋√…]*$/u.test(text);

test('every text has its like', () => {
  const { en, zh } = all_texts();
  assert.deepEqual(sorted(Object.keys(zh)), sorted(Object.keys(en)));
  for (const [key, text] of Object.entries(en)) {
    const other = zh[key];
    assert.deepEqual(links(other), links(text), key);
    assert.deepEqual(codes(other), codes(text), key);
    assert.deepEqual(figures(other), figures(text), key);
    assert.doesNotMatch(other, /[０-９]/u, key);
    if (!same_in_both(text) || /[a-z]{4,} [a-z]{4,}/i.test(text)) assert.notEqual(other, text, key);
  }
});

test('Chinese texts are Chinese', () => {
  const whole = Object.values(all_texts().zh).join('');
  const share = whole.match(kHan).length / whole.match(kLetters).length;
  assert.ok(share > kLeastHan, `${share}`);
});
