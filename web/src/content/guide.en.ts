// The article in English. "{name}" is a figure of the engine (facts.ts); the Chinese file has the same keys.

export const kGuideEn = {
  lead: 'Between the file and the first word of an answer a picture changes its form five times. This page follows it through Qwen3.5, says at each step how we know, and marks what the evidence does not carry.',

  h_question: 'The question',
  question_joint: 'Qwen3.5 is reported to have been trained on words and pictures together from the beginning. It is tempting to hear in this that pictures go straight into the language model. That does not follow: when two kinds of data are trained together says nothing about which modules a model consists of.',
  question_code: 'So this guide asks the code. There a picture has a way of its own: it is scaled, cut into patches, encoded by a vision tower and merged four to one, and only then do its features stand among the words.',
  formula_summary: 'V = M(E(X));  H⁰[image rows] = V',
  summary: 'In one line: the encoder E turns patches X into vectors, the merger M turns those into the rows V, and V takes the place of the image rows in the language model’s input H⁰.',

  h_two: 'Two things that are easily mixed up',
  two_card: 'The model card speaks of early fusion, and in the same place of a causal language model with a vision encoder. The first is about training, the second about architecture. Both can hold at once.',
  two_config: 'The configurations show the encoder’s size: {m:qwen3.5-2b:vision_depth} blocks of width {m:qwen3.5-2b:vision_width} in the 2B model, {m:qwen3.5-9b:vision_depth} of width {m:qwen3.5-9b:vision_width} in the 9B and in the 397B. Their features are mapped to the language widths {m:qwen3.5-2b:language_width}, {m:qwen3.5-9b:language_width} and {m:qwen3.5-397b-a17b:language_width}.',
  two_limit: 'Equal sizes say nothing about equal weights. Neither the training data nor the weights that a tower started from can be read off its shape.',

  h_stations: 'Three stations',
  stations_how: 'Choose a station to see what it does, its shapes and its arithmetic; each has a longer section below.',
  station_encoder: 'Vision encoder',
  station_encoder_hint: 'patches become vectors',
  station_encoder_text: 'A patch covers sixteen by sixteen pixels and two moments in time. One linear map turns it into a vector; positions are added; then every patch of the picture attends to every other, block after block. Shape and number of the vectors stay as they are.',
  station_merger: 'Merger',
  station_merger_hint: 'four vectors become one token',
  station_merger_text: 'Each vector is normalised, the four of a two-by-two block are laid end to end, and a small network maps them to the width of the language model. A quarter of the rows remains.',
  station_difference: 'Difference from Qwen3-VL',
  station_difference_hint: 'one entrance instead of four',
  station_difference_text: 'Qwen3-VL also taps three earlier blocks and adds what it finds there to the image rows inside the language model (DeepStack). Qwen3.5 hands over the merger’s output alone.',
  station_training: 'Training of this part: read in code as it stands; how it was trained is not disclosed.',
  station_more: 'The long version',

  code_neighbours: 'four neighbours side by side',
  code_qwen3_vl: 'Qwen3-VL, inside the language model',
  code_qwen3_5: 'Qwen3.5: the same loop without the line of the image rows',

  h_encoder: 'From pixels to vectors',
  encoder_patch: 'The processor scales the picture and cuts it into patches of {c:unit} × {c:unit} pixels. A patch also spans two moments in time, so a row of `pixel_values` holds {row_values} numbers: three colours, two moments, {c:unit} × {c:unit} pixels.',
  encoder_still: 'A still picture has one moment only. It is laid down twice to fill the patch and gives one temporal group, not two; the copy brings no motion.',
  encoder_row: 'The rows do not run in reading order. The four patches of a two-by-two block stand together, because the merger will need them together. Of a 64 × 64 picture, row {row17:row} holds slot {row17:slot} of block {row17:token}: patch row {row17:y}, patch column {row17:x}, that is pixels {row17:top} to {row17:bottom} from the top and {row17:left} to {row17:right} from the left of the enlarged picture (counting from zero).',
  encoder_positions: 'A learned table of {grid_side} × {grid_side} positions is interpolated to the picture’s grid and added once. Inside each block rotary angles also tell rows and columns apart. So the tower knows places twice: absolutely at its entrance, relatively in every attention.',
  encoder_blocks: 'Every block is ordinary: LayerNorm, attention over all patches of the picture, LayerNorm, a two-layer network. For a 512 × 512 picture the 9B model carries {big:processor_units} vectors of width {m:qwen3.5-9b:vision_width} through {m:qwen3.5-9b:vision_depth} such blocks.',
  encoder_hybrid: 'Three in four layers of the language model replace attention by a gated delta rule ([layer map](page:layers)). From this one must not conclude that the vision tower does so too: it has none of it.',
  encoder_reuse: 'The processor’s class still carries the name of an older family. A reused class is no sign of an old model; the configuration decides what it does.',
  formula_encoder: 'Z = ViT(PatchEmbed(X) + E_abs; R_rot)',

  h_sizes: 'Why sides are multiples of {c:qwen_factor}, and why 64 × 64 costs {red:visual_tokens} tokens',
  sizes_factor: 'A patch is {c:unit} pixels wide and the merger takes two by two patches. Only if both sides are multiples of {c:qwen_factor} does every block come out whole.',
  sizes_grown: 'A 64 × 64 picture has fewer pixels than the smallest size of {c:image_min_pixels}. Both sides grow by the same factor to {red:resized_height} × {red:resized_width}; that is {red:grid_rows} × {red:grid_cols} = {red:processor_units} patches, and a quarter of that, {red:visual_tokens}, are the tokens. A picture of a single pixel costs just as much.',
  sizes_even: 'Halves are rounded to the even neighbour, as Python does: a side of 272 becomes {odd272:resized_height}, a side of 304 becomes {odd304:resized_height}. Rounding halves upwards would give other sizes, and the shapes would no longer be those of the reference.',
  sizes_budget: 'A budget is an upper limit of pixels, not a bill. It can even be exceeded: a picture of 3000 × 20 under a budget of 16 tokens still costs {over:visual_tokens}, because a side is never less than one block.',

  h_merger: 'From vectors to tokens',
  merger_order: 'The order is: LayerNorm on every vector, then the four vectors of a block side by side, then a linear map, GELU, and a second linear map to the language width. For 512 × 512 pixels in the 9B model: {big_units_shape} becomes {big_merged_shape}, and that {big_tokens_shape}.',
  merger_concat: 'Laying end to end keeps apart what each of the four patches says; an average would mix it before the network can look at it. That is a statement about what the form allows, not about what the weights do.',
  merger_insert: 'The prompt holds one placeholder for each visual token. All have the same id: it marks the place and carries no content. The content comes as vectors, which overwrite the placeholders’ embeddings (`masked_scatter`).',
  merger_proof: 'In the recorded run of a red square the engine compared both sides of this step, bit by bit: {proof:positions} positions, {proof:image_count} of them placeholders; at those the rows are the visual rows and no longer the placeholder’s embedding, everywhere else nothing changed.',
  merger_continuous: 'Nothing is looked up in a codebook on the way. The visual rows are continuous vectors; the size of the text vocabulary says nothing about them.',
  formula_merger: '[P, E] → [P/4, 4E] → [P/4, H]',

  h_positions: 'Which position a token gets',
  positions_axes: 'A token has three positions: time, height, width. For text all three are equal and count on. For a picture time stands still while height and width count the rows and columns of its tokens.',
  positions_jump: 'Take four tokens of text, the {red:visual_tokens} of a small picture, twelve of text. The picture starts at {pos:start} and reaches {pos:last} in height and width. The next text token gets {pos:after}: one more than the greatest position used, not one more than the number of tokens.',
  positions_answer: 'So the first token of the answer has index {pos:length} and position {pos:next}; the difference of {pos:delta} is kept for all that follow. A picture advances the positions only by its longer side in tokens.',

  h_deepstack: 'What DeepStack adds, and how we know that Qwen3.5 has none',
  deepstack_vl: 'Qwen3-VL takes the vectors after three earlier blocks ({m:qwen3-vl-8b:deepstack} of the 8B model, counted from zero), sends each through a merger of its own, and adds the results to the image rows after the language layers 0, 1 and 2. Features of several depths enter at several depths.',
  deepstack_config: 'In the configurations of Qwen3.5 the list `deepstack_visual_indexes` is empty. By itself that proves little: a field may be unused, or have a default elsewhere.',
  deepstack_code: 'So the way was followed. The vision model of Qwen3.5 has no list of further mergers and returns two things, its last hidden state and the merged features; only the latter is inserted. A filled list in the configuration changes nothing, because nobody reads it.',
  deepstack_limit: 'That one model has this path and the other has not does not say which is better, nor why it was left out. For that one would have to train both with all else equal.',

  h_calculator: 'Try it',
  calculator_note: 'The calculator is the engine’s own, compiled for this page; [on its own page](page:calculator) there is more room.',

  h_configurations: 'Configurations',
  configurations_note: 'What the shapes depend on, as the engine knows it. A dash: the model has none. Widths of Gemma 4 and the vision side of Qwen3-VL-32B come from class values or copies.',
  configurations_12b: 'Gemma 4 12B has no encoder: its processor still counts units of {c:unit} pixels, but the model receives blocks of {m:gemma-4-12b:patch} × {m:gemma-4-12b:patch} pixels as one vector each.',

  h_video: 'What a clip costs',
  video_minute: 'A clip of one minute at thirty frames a second is looked at twice a second: {minute:count} frames. Two frames make a temporal group, so there are {minute:groups}. At 720 × 1280 every frame is scaled to {minute:resized_height} × {minute:resized_width}, so that the whole clip keeps within its pixels; that gives {minute:tokens_per_group} tokens a group and {minute:visual_tokens} in all, before the time stamps.',
  video_budget: 'The limit counts the pixels of the whole clip. A longer clip therefore gets coarser frames, not more tokens without end ([video lab](page:video)).',

  video_recorded: 'The engine ran a short clip while this page was built: {clip:frames} frames of a moving star, {clip:rate} a second. The last frame has no partner and is repeated. That gives {clip:groups} groups of {clip:each} tokens, behind the stamps {clip:stamps} seconds. Asked where it moves, the demo checkpoint answers “{clip:answer}” ([every stage of this run](page:trace?run=clip)).',

  h_training: 'What the makers say, and what they do not',
  training_says: 'The card reports training on text and pictures from the start and one model for both.',
  training_silent: 'It gives no recipe for the vision side alone and names no checkpoint that the tower started from. Likeness to an earlier family may suggest one; it is left open here.',

  h_limits: 'What does not follow',
  limits_decoder: 'Reading pictures does not mean drawing them. Nothing on this path turns features back into pixels.',
  limits_study: 'Who wants to know how much of a picture survives must choose features before or after the merger, settle how they are laid out, and train on pictures as the target. A good answer in words is no measure of that.',
  limits_calculator: 'The calculator counts shapes. It ranks no model, estimates no cost and says nothing about how fine a detail is seen.',

  h_next: 'Go on',
  next_quiz: 'Twelve [questions](page:quiz) with reasons; the [audit](page:audit) with a command for each step; all [sources](page:references).',
} as const;

export type GuideKey = keyof typeof kGuideEn;
