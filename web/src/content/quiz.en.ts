// Questions in English: what was shown, and what it does not show. The Chinese file has the same ids in the same order.
import type { Question } from '../islands/quiz';

export const kQuizEn: Question[] = [
  {
    id: 'sizes', right: 1,
    question: 'Two checkpoints have vision towers of equal depth and width. Do they share their initial weights?',
    options: ['Yes, equal shapes come from equal weights', 'No, or at least it cannot be told from that', 'Yes, if they belong to one family'],
    reason: 'Shape is architecture, weights are provenance: two kinds of evidence. See [the article](page:guide#two).',
  },
  {
    id: 'fusion', right: 1,
    question: 'The card says “early fusion”. Does the model therefore have no vision encoder?',
    options: ['Right, pictures go straight in', 'No, fusion is about training, not about modules', 'Only the large ones have one'],
    reason: 'The same card names a vision encoder. When data are joined in training does not decide which modules there are. See [the question](page:guide#question).',
  },
  {
    id: 'hybrid', right: 1,
    question: 'Three in four language layers use a gated delta rule. And the blocks of the vision tower?',
    options: ['The same mixture', 'Ordinary attention in every block', 'Delta rule only'],
    reason: 'The tower’s blocks are ordinary; the mixture belongs to the language model. See [the layer map](page:layers).',
  },
  {
    id: 'placeholder', right: 2,
    question: 'What does the id of an image placeholder carry?',
    options: ['The colour of its patch', 'Its entry in a codebook', 'Only the place; the content comes as a vector'],
    reason: 'All placeholders have one id. Their embeddings are overwritten. See [from vectors to tokens](page:guide#merger).',
  },
  {
    id: 'doubled', right: 1,
    question: 'Why is a still picture laid down twice?',
    options: ['To see motion', 'To fill a patch that spans two moments', 'To get two temporal groups'],
    reason: 'A patch covers two moments; one frame is copied to fill it, and one group results. See [from pixels to vectors](page:guide#encoder).',
  },
  {
    id: 'deepstack', right: 2,
    question: 'What shows best that Qwen3.5 has no DeepStack?',
    options: ['An empty list in its configuration', 'That it was published later', 'Following what the code returns and inserts'],
    reason: 'A configuration declares, code acts. The list is not even read. See [DeepStack](page:guide#deepstack).',
  },
  {
    id: 'concat', right: 1,
    question: 'How does the merger join four neighbouring patches?',
    options: ['It averages them', 'It lays them end to end and maps the result', 'It keeps the strongest'],
    reason: 'After a LayerNorm the four vectors stand side by side, then two linear maps follow. An average is what Gemma 4 takes. See [four routes](page:compare).',
  },
  {
    id: 'billing', right: 1,
    question: 'Does the visual token count say what a request costs in money?',
    options: ['Yes, directly', 'No, it is a matter of shapes', 'Yes, after the time stamps are added'],
    reason: 'The budget limits pixels. Prices are set by whoever offers the model; nothing here knows them. See [sizes](page:guide#sizes).',
  },
  {
    id: 'overshot', right: 1,
    question: 'A long thin picture is given a small budget. Can it cost more than that?',
    options: ['No, a budget is a bound', 'Yes, because a side is at least one block', 'Only in video'],
    reason: 'Sides are whole blocks and never less than one, so the area can lie above the budget. Try it in [the calculator](page:calculator).',
  },
  {
    id: 'jump', right: 1,
    question: 'Which position does the first text token after a picture get?',
    options: ['One more than the number of tokens so far', 'One more than the greatest position used', 'Zero again'],
    reason: 'A picture uses only as many positions as its longer side has tokens; text goes on behind the greatest. See [positions](page:positions).',
  },
  {
    id: 'generation', right: 1,
    question: 'A model describes pictures well. Can its features be turned back into pictures?',
    options: ['That follows', 'That does not follow', 'Only before the merger'],
    reason: 'Nothing on this path makes pixels. How much could be won back must be measured by training for it. See [limits](page:guide#limits).',
  },
  {
    id: 'norms', right: 1,
    question: 'A map shows which rows are long. Does it show what the model looked at?',
    options: ['Yes', 'No, it shows how large vectors are', 'Only in the last layer'],
    reason: 'Size is not meaning, and even a map of attention is no explanation of an answer. See [recorded runs](page:trace).',
  },
];
