// 自测题（中文）。题号与次序同英文文件。
import type { Question } from '../islands/quiz';

export const kQuizZh: Question[] = [
  {
    id: 'sizes', right: 1,
    question: '两个检查点的视觉塔深度和宽度都相同，它们的初始权重相同吗？',
    options: ['相同，形状相同源于权重相同', '不一定，从形状看不出来', '同一家族就相同'],
    reason: '形状属于结构，权重属于来历，是两类证据。见[正文](page:guide#two)。',
  },
  {
    id: 'fusion', right: 1,
    question: '模型卡写着“早期融合”，那么模型就没有视觉编码器吗？',
    options: ['对，图像直接进入模型', '不是，融合讲的是训练，不是模块', '只有大模型才有'],
    reason: '同一张卡里就写着视觉编码器。数据何时一起训练，决定不了有哪些模块。见[问题](page:guide#question)。',
  },
  {
    id: 'hybrid', right: 1,
    question: '语言模型每四层有三层用门控 delta 规则，视觉塔的块呢？',
    options: ['同样的混合', '每一块都是普通注意力', '全是 delta 规则'],
    reason: '视觉塔的块都很普通，混合结构只属于语言模型。见[层结构图](page:layers)。',
  },
  {
    id: 'placeholder', right: 2,
    question: '图像占位符的 id 携带了什么？',
    options: ['所在图块的颜色', '它在码本里的条目', '只有位置，内容以向量形式到来'],
    reason: '所有占位符的 id 都一样，嵌入会被盖掉。见[从向量到 token](page:guide#merger)。',
  },
  {
    id: 'doubled', right: 1,
    question: '静态图为什么要铺两遍？',
    options: ['为了看出运动', '为了填满跨两个时刻的图块', '为了得到两个时间组'],
    reason: '图块覆盖两个时刻，一帧复制一份才能填满，结果仍是一个时间组。见[从像素到向量](page:guide#encoder)。',
  },
  {
    id: 'deepstack', right: 2,
    question: '最能说明 Qwen3.5 没有 DeepStack 的是什么？',
    options: ['配置里的列表是空的', '它发布得更晚', '沿代码看它返回什么、插入什么'],
    reason: '配置只是声明，代码才是行为；那个列表根本没有代码去读。见 [DeepStack](page:guide#deepstack)。',
  },
  {
    id: 'concat', right: 1,
    question: '合并器怎样合起相邻的四个图块？',
    options: ['取平均', '首尾相接后再映射', '只留最强的一个'],
    reason: '先 LayerNorm，再把四个向量并排，然后经过两次线性映射。取平均的是 Gemma 4。见[四条路线](page:compare)。',
  },
  {
    id: 'billing', right: 1,
    question: '视觉 token 数能说明一次请求要花多少钱吗？',
    options: ['能，直接换算', '不能，它只关乎形状', '能，加上时间戳就行'],
    reason: '预算限制的是像素。价格由提供服务的人定，这里无从得知。见[尺寸](page:guide#sizes)。',
  },
  {
    id: 'overshot', right: 1,
    question: '一张细长的图配上很小的预算，花费会超过预算吗？',
    options: ['不会，预算就是上限', '会，因为一条边至少是一块', '只有视频才会'],
    reason: '边长必须是整块，且至少一块，所以面积可能高于预算。在[计算器](page:calculator)里试试。',
  },
  {
    id: 'jump', right: 1,
    question: '图片之后的第一个文字 token 得到什么位置？',
    options: ['已有 token 数加一', '用过的最大位置加一', '重新从零开始'],
    reason: '图片用掉的位置只等于较长一边的 token 数，文字从最大的那个之后继续。见[三轴位置](page:positions)。',
  },
  {
    id: 'generation', right: 1,
    question: '模型描述图片很在行，那它的特征能还原成图片吗？',
    options: ['由此可知能', '推不出来', '只有合并之前的才能'],
    reason: '这条路上没有一步产出像素；能还原多少，要专门训练才量得出来。见[不能推出什么](page:guide#limits)。',
  },
  {
    id: 'norms', right: 1,
    question: '图上显示了哪些行更长，这就是模型看了哪里吗？',
    options: ['是', '不是，它只说明向量有多大', '只有最后一层是'],
    reason: '大小不是含义；即便是注意力图，也解释不了答案。见[实跑记录](page:trace)。',
  },
];
