// 正文（中文）。花括号里是引擎给出的数字（facts.ts）；键与英文文件一致。
import type { GuideKey } from './guide.en';

/** 引擎表中“空间操作”一栏的中文说法。 */
export const kOperationsZh: Record<string, string> = {
  '2x2 concat + MLP': '2×2 拼接 + MLP',
  '2x2 concat + MLP, and 3 deepstack mergers': '2×2 拼接 + MLP，另有 3 个 DeepStack 合并器',
  '3x3 average pool, x sqrt(width), linear': '3×3 平均池化，乘 √宽度，线性',
  '3x3 average pool, x sqrt(width), standardise, linear': '3×3 平均池化，乘 √宽度，标准化，线性',
  'dense 6912 -> 3840 + factorised positions': '线性 6912 → 3840，加可分解的位置',
};

export const kGuideZh: Record<GuideKey, string> = {
  lead: '从图片文件到回答的第一个字，一张图要换五次形态。本页跟着它走完 Qwen3.5 的全程，每一步都交代依据从何而来，也标出证据撑不起的结论。',

  h_question: '问题',
  question_joint: '据发布者介绍，Qwen3.5 从一开始就把文字和图像放在一起训练。人们很容易由此以为：图像是直接送进语言模型的。这个推论不成立。两类数据何时一起训练，与模型由哪些模块组成，是两回事。',
  question_code: '所以这本手册去问代码。代码里，图像走的是自己的路：先缩放，再切成图块，经视觉塔编码，四合一地合并，最后才以特征的身份站到文字中间。',
  formula_summary: 'V = M(E(X));  H⁰[图像行] = V',
  summary: '一句话概括：编码器 E 把图块 X 变成向量，合并器 M 把向量变成行 V，V 再顶替语言模型输入 H⁰ 里的图像行。',

  h_two: '两件常被混为一谈的事',
  two_card: '模型卡提到早期融合，同一处又说它是带视觉编码器的因果语言模型。前者讲训练，后者讲结构，两者可以同时成立。',
  two_config: '编码器的规模写在配置里：2B 是 {m:qwen3.5-2b:vision_depth} 个块、宽 {m:qwen3.5-2b:vision_width}；9B 与 397B 都是 {m:qwen3.5-9b:vision_depth} 个块、宽 {m:qwen3.5-9b:vision_width}。特征随后映射到各自语言模型的宽度：{m:qwen3.5-2b:language_width}、{m:qwen3.5-9b:language_width} 与 {m:qwen3.5-397b-a17b:language_width}。',
  two_limit: '规模相同不等于权重相同。训练用了什么数据、视觉塔从什么权重起步，从形状上都看不出来。',

  h_stations: '三站',
  stations_how: '选一站，看它做什么、形状怎么变、算式是什么；下文各有详细一节。',
  station_encoder: '视觉编码器',
  station_encoder_hint: '图块变成向量',
  station_encoder_text: '一个图块覆盖十六乘十六像素、前后两个时刻。一次线性映射把它变成向量，加上位置，然后一块接一块地做注意力：同一张图里，每个图块都看得到其余所有图块。向量的个数和宽度始终不变。',
  station_merger: '合并器',
  station_merger_hint: '四个向量合成一个 token',
  station_merger_text: '先给每个向量做归一化，再把二乘二方块里的四个首尾相接，由一个小网络映射到语言模型的宽度。行数只剩四分之一。',
  station_difference: '与 Qwen3-VL 的差别',
  station_difference_hint: '入口从四个变成一个',
  station_difference_text: 'Qwen3-VL 还会从三个较早的块取出特征，加到语言模型内部的图像行上，这就是 DeepStack。Qwen3.5 只交出合并器的输出。',
  station_training: '训练情况：这里只是静态地读代码；这一部分怎么训练的，没有披露。',
  station_more: '看详细一节',

  code_neighbours: '四个相邻的并排',
  code_qwen3_vl: 'Qwen3-VL，在语言模型内部',
  code_qwen3_5: 'Qwen3.5：同样的循环，少了图像行那一句',

  h_encoder: '从像素到向量',
  encoder_patch: '处理器先缩放图片，再切成 {c:unit} × {c:unit} 像素的图块。一个图块还跨两个时刻，所以 `pixel_values` 的一行有 {row_values} 个数：三个颜色通道、两个时刻、{c:unit} × {c:unit} 个像素。',
  encoder_still: '静态图只有一个时刻。处理器把它铺两遍来填满图块，得到的是一个时间组，而不是两个；多出来的那份拷贝不含任何运动信息。',
  encoder_row: '行的顺序不是从左到右、从上到下。二乘二方块里的四个图块排在一起，因为合并器要一起用它们。以 64 × 64 的图为例，第 {row17:row} 行是第 {row17:token} 个方块的 {row17:slot} 号槽：图块行 {row17:y}、图块列 {row17:x}，也就是放大后的图里距上边 {row17:top} 到 {row17:bottom}、距左边 {row17:left} 到 {row17:right} 的像素（均从零数起）。',
  encoder_positions: '模型学到的是一张 {grid_side} × {grid_side} 的位置表，插值到图片的网格后只加一次；各块内部还用旋转角度区分行与列。因此位置信息有两处：入口处的绝对位置，和每次注意力里的相对位置。',
  encoder_blocks: '每个块都很普通：LayerNorm、对整张图所有图块的注意力、LayerNorm、两层网络。512 × 512 的图在 9B 模型里是 {big:processor_units} 个宽 {m:qwen3.5-9b:vision_width} 的向量，依次穿过 {m:qwen3.5-9b:vision_depth} 个这样的块。',
  encoder_hybrid: '语言模型里每四层有三层用门控 delta 规则代替注意力（见[层结构图](page:layers)）。不能据此以为视觉塔也这样：塔里一层都没有。',
  encoder_reuse: '处理器的类名还沿用旧家族的名字。复用一个类，不代表模型是旧的；它怎么工作由配置决定。',
  formula_encoder: 'Z = ViT(PatchEmbed(X) + E_abs; R_rot)',

  h_sizes: '为什么边长是 {c:qwen_factor} 的倍数，为什么 64 × 64 要花 {red:visual_tokens} 个 token',
  sizes_factor: '图块宽 {c:unit} 像素，合并器一次取二乘二个图块。只有两条边都是 {c:qwen_factor} 的倍数，每个方块才是完整的。',
  sizes_grown: '64 × 64 的像素数低于下限 {c:image_min_pixels}，于是两边按同一倍数放大到 {red:resized_height} × {red:resized_width}，共 {red:grid_rows} × {red:grid_cols} = {red:processor_units} 个图块，取四分之一，就是 {red:visual_tokens} 个 token。哪怕只有一个像素的图，花费也一样。',
  sizes_even: '取整逢半取偶，与 Python 一致：边长 272 变成 {odd272:resized_height}，304 变成 {odd304:resized_height}。若改成四舍五入，尺寸就会不同，形状也就对不上参考实现了。',
  sizes_budget: '预算是像素的上限，不是账单，而且还可能被突破：3000 × 20 的图即使只给 16 个 token 的预算，也要花 {over:visual_tokens} 个，因为一条边至少是一块。',

  h_merger: '从向量到 token',
  merger_order: '顺序是：先对每个向量做 LayerNorm，再把一个方块的四个向量并排接起来，然后线性映射、GELU，最后一次线性映射到语言模型的宽度。512 × 512 的图在 9B 里：{big_units_shape} 变成 {big_merged_shape}，再变成 {big_tokens_shape}。',
  merger_concat: '首尾相接能把四个图块各自的内容分开保存；取平均则会在网络看到之前先把它们搅在一起。这说的是结构允许什么，不是权重实际做了什么。',
  merger_insert: '提示里为每个视觉 token 留了一个占位符。它们的 id 全都相同：只标出位置，不带内容。内容以向量形式到来，盖掉占位符的嵌入（`masked_scatter`）。',
  merger_proof: '在红色方块的实跑记录里，引擎把这一步的前后逐位比对过：共 {proof:positions} 个位置，其中 {proof:image_count} 个是占位符；这些位置上的行等于视觉行、不再是占位符的嵌入，其余各行原封未动。',
  merger_continuous: '整条路上没有查过任何码本。视觉行是连续向量，文本词表有多大与它无关。',
  formula_merger: '[P, E] → [P/4, 4E] → [P/4, H]',

  h_positions: '每个 token 得到什么位置',
  positions_axes: '一个 token 有三个位置：时间、高、宽。文字的三个值相等，一路往下数；图片的时间值不动，高和宽按它的 token 行列来数。',
  positions_jump: '设有四个文字 token、一张小图的 {red:visual_tokens} 个 token、再加十二个文字 token。图片从 {pos:start} 开始，高和宽数到 {pos:last}。紧接着的文字 token 得到 {pos:after}：是用过的最大位置加一，而不是 token 个数加一。',
  positions_answer: '所以回答的第一个 token 序号是 {pos:length}，位置却是 {pos:next}；相差的 {pos:delta} 会一直保留下去。一张图让位置前进的，只是它较长一边的 token 数。',

  h_deepstack: 'DeepStack 添了什么，又怎么知道 Qwen3.5 没有它',
  deepstack_vl: 'Qwen3-VL 取三个较早的块之后的向量（8B 模型是第 {m:qwen3-vl-8b:deepstack} 块，从零数起），各过一个专用合并器，结果分别加到语言模型第 0、1、2 层之后的图像行上。不同深度的特征，从不同深度进入。',
  deepstack_config: '在 Qwen3.5 的配置里，`deepstack_visual_indexes` 是空列表。单凭这一点说明不了多少：字段可能没人用，也可能别处另有默认值。',
  deepstack_code: '于是沿着代码走一遍。Qwen3.5 的视觉模型没有额外合并器的列表，只返回两样东西：最后的隐藏状态，和合并后的特征；插进去的只有后者。就算把配置里的列表填上也毫无变化，因为没有代码去读它。',
  deepstack_limit: '一个模型有这条路、另一个没有，并不说明谁更好，也不说明为何去掉。要下这种结论，得在其余条件全部相同的情况下各训练一遍。',

  h_calculator: '动手试',
  calculator_note: '下面就是引擎自己的计算器，为网页编译而成；[单独一页](page:calculator)更宽敞。',

  h_configurations: '各型号的配置',
  configurations_note: '形状取决于这些数字，取自引擎的表。短横表示没有。Gemma 4 的宽度和 Qwen3-VL-32B 的视觉部分来自类默认值或副本。',
  configurations_12b: 'Gemma 4 12B 没有编码器：处理器仍按 {c:unit} 像素的单元来数，模型收到的却是 {m:gemma-4-12b:patch} × {m:gemma-4-12b:patch} 像素一块、每块一个向量。',

  h_video: '一段视频要花多少',
  video_minute: '一分钟、每秒三十帧的视频，每秒取两帧来看，共 {minute:count} 帧；两帧合成一个时间组，共 {minute:groups} 组。原尺寸 720 × 1280 时，每帧会缩到 {minute:resized_height} × {minute:resized_width}，好让整段视频不超出像素上限；于是每组 {minute:tokens_per_group} 个 token，合计 {minute:visual_tokens} 个，时间戳另算。',
  video_budget: '上限管的是整段视频的像素总数。所以视频越长，画面越粗，而不是 token 无限增加（见[视频实验台](page:video)）。',

  video_recorded: '建站时引擎实跑过一段短视频：一颗移动的星星，共 {clip:frames} 帧，每秒 {clip:rate} 帧。末帧落单，重复一次，于是成为 {clip:groups} 组，每组 {clip:each} 个 token，前面的时间戳依次是 {clip:stamps} 秒。问它往哪里动，演示检查点答“{clip:answer}”（[这次运行的各个阶段](page:trace?run=clip)）。',

  h_training: '发布者说了什么，没说什么',
  training_says: '模型卡称，文字与图像从一开始就一起训练，由同一个模型处理。',
  training_silent: '它没有给出视觉部分单独的训练方法，也没有说视觉塔从哪个检查点起步。与早先家族的相似之处或许能让人猜到什么，这里一律留空。',

  h_limits: '不能推出什么',
  limits_decoder: '看得懂图，不等于画得出图。这条路上没有任何一步能把特征变回像素。',
  limits_study: '想知道一张图还剩下多少信息，得先选定用合并前还是合并后的特征，定好怎样排列，再以图像为目标去训练。文字答得好，不能充当这种度量。',
  limits_calculator: '计算器只数形状：不给模型排名，不估价，也不说明能看清多小的细节。',

  h_next: '接着看',
  next_quiz: '十二道附理由的[自测题](page:quiz)；每一步都配有命令的[审计](page:audit)；全部[出处](page:references)。',
};
