# %% [markdown] en="692ba12b"
# # 第 5 课 · 掩蔽：填充、因果，以及没有掩蔽时的泄漏
#
# | | |
# |---|---|
# | **你将做什么** | 填充一个批量，看填充改变了什么，再把它正确地藏起来。然后训练两个模型，其中一个能看到自己的答案，再想办法把它认出来 |
# | **你将学到** | 为什么 $-\infty$ 要放在 softmax 之前；为什么掩蔽的是键的列，而不是查询的行；为什么有了一个因果掩蔽，所有位置就能同时训练 |
# | **需要** | 第 1 课和第 2 课（softmax，雅可比矩阵和反向传播是什么） |
# | **论文** | 第 3.1 节、第 3.2.3 节、图 2 |
# | **时间** | 45 分钟，不含第 5.8 节和第 5.9 节（*选读*：运行其中的单元格，跳过文字。后面的部分都用不到它们） |
#
# 请从上到下依次运行各个单元格。看到**预测**时，先停下来，写下一个数，再往下走。

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    package = ".." if Path("../pyproject.toml").exists() else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This lesson needs the package aiayn_np, and it is not installed. Get a copy of"
                 " the whole project, run pip install -e '.[notebooks]' in it, and start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import inspect

import numpy as np

from aiayn_np import (
    DecoderLayer,
    Embedding,
    Encoder,
    EncoderLayer,
    Mask,
    ReverseTask,
    ScaledDotProductAttention,
    Softmax,
    Task,
    Transformer,
    attention_maps,
    attention_masks,
    causal,
    exact_match,
    greedy_decode,
    not_padding,
    plot_attention,
)
from aiayn_np.experiments.claims.causality import CAUSALITY
from aiayn_np.experiments.learning import learn, scores, small_model
from aiayn_np.plotting.drawings import SENTENCE, figure_1, masks_combined
from aiayn_np.plotting.figures import COLORS, new_figure

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="06d1d3f4"
# 掩蔽在图 1 中三个亮起的方框内部起作用。三个掩蔽都遮住填充，带掩蔽的那个注意力还要遮住未来。

# %%
figure_1("attention")

# %% [markdown] en="4822e220"
# ## 5.1 批量需要填充
#
# 取我们的句子，再取另一个只有两个词的句子。数组的各行必须一样长，所以短的句子要用一个没有意义的词元补足：`<pad>`，编号（id）为 0。**编码器层**由一个注意力和一个作用于每个词元的小网络组成（第 6 课和第 7 课）。在这里，两个这样的层就是一个黑箱，读入向量，给出向量。

# %%
words = ["<pad>", *SENTENCE, "birds", "fly"]
ids = np.array([[1, 2, 3, 4],               # (B, T)  the cat sat down
                [5, 6, 0, 0]])              #         birds fly
tokens = [words[i] for i in ids[1]]
print(ids.shape, tokens)

# %%
rng = np.random.default_rng(0)
embedding = Embedding(len(words), 16, rng=rng)                          # d_model = 16
encoder = Encoder([EncoderLayer(16, 32, 2, rng=rng) for _ in range(2)])     # N = 2 layers, h = 2 heads
x = embedding(ids)                                                      # (B, T, d_model)
print("x", x.shape)

# %% [markdown] en="d38fdff3"
# > **预测：** 让 `birds fly` 单独通过编码器，再在这个批量中通过一次。`birds` 的输出相同吗？

# %%
alone = encoder(x[1:, :2])                                              # (1, 2, d_model)
batch, cache = encoder.forward(x)                                       # (2, 4, d_model)
print("largest difference:", np.abs(batch[1, :2] - alone[0]).max())
unmasked = cache.layers[0].self_attention.attention.weights[1]          # (h, T_q, T_k)
print("weight on padding, each head:", unmasked[:, 0, 2:].sum(axis=-1))

# %% [markdown] en="68229ed2"
# 输出不相同。如果权重都相等，填充会得到一半的权重。在这里，两个头分别给了它大约三分之一和三分之二。这样一来，一个句子的输出就取决于批量中它的邻居有多长。所以，必须把填充藏起来。`not_padding` 说明哪些词元是有效的，`Mask` 则使用这个信息。这是两者的源码：

# %%
print(inspect.getsource(not_padding))
print(inspect.getsource(Mask.forward))

# %% [markdown] en="de1f08e9"
# `not_padding` 把各个编号与 `<pad>` 的编号比较，再增加两个轴。允许看的地方，`Mask` 保留分数；其余的地方，它把分数设为 $-\infty$（第 5.2 节）。

# %%
allowed = not_padding(ids)                                              # (B, 1, 1, T)
print(allowed.shape)
print(allowed[:, 0, 0])
masked, cache = encoder.forward(x, allowed=allowed)
print("largest difference:", np.abs(masked[1, :2] - alone[0]).max())

# %% [markdown] en="ea6b392a"
# 现在，邻居没有影响了。（剩下的是舍入误差。）掩蔽的轴与分数的轴相同，即 (B, h, T_q, T_k)。中间两个轴的大小是 1，所以 NumPy 对每个头、每个查询重复使用这个掩蔽：凡是填充的键，对每个查询都藏起来。
#
# 图中是 `birds fly` 的第一个头，分别是没有掩蔽和有掩蔽的情形。画斜线的格子不是“权重为 0”，而是“不许看”。

# %%
masked_weights = cache.layers[0].self_attention.attention.weights[1]    # (h, T_q, T_k)
both = np.stack([unmasked[0], masked_weights[0]])                       # (2, T_q, T_k)
shown = np.stack([np.ones((4, 4), bool), np.tile(allowed[1, 0], (4, 1))])
plot_attention(both, tokens, tokens, allowed=shown, titles=["no mask", "not_padding"])

# %% [markdown] en="95ee167c"
# ## 5.2 在 softmax 之前放 −∞，而不是在之后置零
#
# 取一行分数。最后一个键是填充，什么也不该得到。容易想到三种做法：在 softmax 之后把它的权重置零，在 softmax 之前把它的分数置零，或者在 softmax 之前把它的分数设为 $-\infty$。
#
# > **预测：** 三种做法中，哪些使填充的权重为 0？哪些使这一行的和为 1？

# %%
softmax = Softmax()
row = np.array([2.0, 1.0, 0.0, 3.0])                                    # (T_k,) the last is padding
real = np.array([True, True, True, False])
ways = {"zero after ": softmax(row) * real,
        "zero before": softmax(row * real),
        "-inf before": softmax(np.where(real, row, -np.inf)),
        "(three keys)": softmax(row[:3])}
for name, weights in ways.items():
    print(f"{name:12}", weights, " sum", round(weights.sum(), 4))

# %% [markdown] en="31ad5995"
# 只有第三种做法两者都满足，它的结果与没有填充的一行相同。**之后置零**太晚了：填充已经进了分母，所以其他权重都偏小。**之前置零**根本不是掩蔽：$e^0 = 1$，分数 0 和别的分数没有两样。用 $-\infty$，这个键就从两个求和中都消失了，一个是分母，一个是值的平均，因为 $e^{-\infty} = 0$。
#
# 可不可以在 softmax 之后置零，再把这一行放大到和为 1？只有还剩下东西可以放大时，这样做才行：

# %%
row[3] = 800.0                                                          # a very large score of padding
print("zero after ", softmax(row) * real)
print("-inf before", softmax(np.where(real, row, -np.inf)))

# %% [markdown] en="05e71f69"
# 许多程序用 $-10^9$ 代替 $-\infty$。两者给出的权重相同，只有*什么都不许看*的行例外。如果用 $-10^9$ *替换*分数，这一行的分数就全相等，查询会去看每一个不许看的键。如果是*加上*它（大多数程序如此），这一行就像没有掩蔽一样。两者都是真实出现过的错误。对于全是 $-\infty$ 的行，`Softmax` 给出全零。（图 2 在缩放之后作掩蔽。对 $-\infty$ 来说，先后次序没有关系。）

# %%
print("same in a usual row:", np.array_equal(softmax(np.where(real, row, -1e9)),
                                             softmax(np.where(real, row, -np.inf))))
print("-1e9 everywhere    :", softmax(np.full(4, -1e9)))
print("-1e9 added to each :", softmax(row - 1e9), " without a mask:", softmax(row))
print("-inf everywhere    :", softmax(np.full(4, -np.inf)))

# %% [markdown] en="0a0a1d0d"
# ## 5.3 为什么是键的列，而不是查询的行？
#
# 掩蔽不让查询*去看*填充：它藏起来的是列。填充的位置仍然是查询，所以注意力图中有它们的行（上面的图中四行都在）。这些行也要藏起来吗？先试试只藏行。

# %%
rows_only = allowed.mT                                                  # (B, 1, T, 1)
wrong = encoder(x, allowed=rows_only)
print("largest difference to the sentence alone:", np.abs(wrong[1, :2] - alone[0]).max())

# %% [markdown] en="23e573e6"
# 这样藏错了格子：`birds` 仍然看着填充。而且，什么都不许看的行很危险，这时 softmax 的原始公式是 0/0：

# %%
with np.errstate(invalid="ignore"):
    exp_scores = np.exp(np.full(3, -np.inf))
    print("plain softmax:", exp_scores / exp_scores.sum())
print("our Softmax  :", softmax(np.full(3, -np.inf)))

# %% [markdown] en="f0fb6865"
# 只要一个填充行中有一个 `nan`，就足以坏事。$0 \cdot$ `nan` 还是 `nan`，所以尽管权重为 0，它在下一层仍会传到这个序列的每个词元。
#
# 如果只掩蔽键的列，每一行总还有东西可看。不过，填充位置的查询也就会算出一些结果。模型中有两处可能读到这些结果：
#
# - **下一层**把各个位置当作键和值来读。在那里，填充已经掩蔽。（解码器读记忆时，也用同一个掩蔽。）
# - **损失**把输出与目标比较。目标是填充时，它不计入。
#
# 所以，应该没有谁会读到它。我们来检验：把第一层在填充位置的输出改写掉。
#
# > **预测：** 第二层之后，有效词元的输出改变多少？

# %%
first, second = encoder.layers
y = first(x, allowed=allowed)                                           # (B, T, d_model)
spoiled = np.where((ids == 0)[..., None], 1000.0, y)
change = second(spoiled, allowed=allowed) - second(y, allowed=allowed)
print("at padded positions:", np.abs(change[ids == 0]).max())
print("at real positions  :", np.abs(change[ids != 0]).max())

# %% [markdown] en="b284582b"
# 有效词元的输出的改变恰好是 0.0，因为 $0 \cdot 1000$ 等于 0。反向也是如此。在输出处取一个梯度，它在填充位置上为零（损失给出的梯度正是如此），再看传到输入处的是什么：

# %%
_, cache = encoder.forward(x, allowed=allowed)
grad_y = np.where((ids != 0)[..., None], rng.standard_normal(x.shape), 0.0)
grad_x = encoder.backward(grad_y, cache)                                # (B, T, d_model)
print("gradient at padded positions:", np.abs(grad_x[ids == 0]).max())
print("gradient at real positions  :", np.abs(grad_x[ids != 0]).max())

# %% [markdown] en="6112211b"
# 没有梯度流入填充，所以从填充学不到任何东西。把行也掩蔽掉，只会多费工夫，有人读的结果也都不会改变。
#
# ## 5.4 因果掩蔽
#
# 解码器学习写出目标序列。它的输入就是目标序列本身，只是右移了一位（论文第 3.1 节）。在每个位置上，它已经读过到这里为止的所有词元，并且要写出接下来的那个词元。下图以我们的句子为例。`<bos>` 表示开头，`<eos>` 表示结尾。

# %%
masks_combined(masks=False)

# %% [markdown] en="ee3cc663"
# 本课用 `ReverseTask` 来训练：把源序列倒过来写。

# %%
task = ReverseTask(max_length=6)
src = task.source("3 1 4")                                              # (1, 4)  with <eos>
tgt_out = task.source("4 1 3")                                          # (1, 4)  with <eos>
tgt_in = np.array([[task.bos, *tgt_out[0, :-1]]])                       # (1, 4)  shifted by one
for name, row in (("src", src), ("tgt_in", tgt_in), ("tgt_out", tgt_out)):
    print(f"{name:8}", *(f"{t:6}" for t in task.tokens(row[0])))

# %% [markdown] en="00e7fb70"
# 比较最后两行：位置 $t$ 的答案，就是输入中位置 $t + 1$ 上的词元。解码器如果可以向右多看一位，就没有什么需要学的了。所以，位置 $i$ 只许看满足 $j \le i$ 的位置。用 NumPy，`causal` 只要一行：

# %%
print(inspect.getsource(causal))
print(causal(4).astype(int))                                            # (T, T)  row = query, column = key

# %% [markdown] en="173ccc72"
# 对角线是允许的：位置 $i$ 可以看自己的*输入*，那是上一步的答案。所以没有哪一行是空的。（**GPT** 的所有注意力都用这个掩蔽。**BERT** 从来不用：它一次读完整段文本，并不写作。）一个批量同时需要两种掩蔽，用一个 `&` 就够了。画斜线的格子不许看：

# %%
masks_combined(shift=False)

# %% [markdown] en="8699996c"
# > **预测：** `causal(4)` 的形状是 (4, 4)，`not_padding(ids)` 的形状是 (2, 1, 1, 4)。`causal(4) & not_padding(ids)` 的形状是什么？第二个序列有 2 个有效词元，属于它的格子中有几个为 True？

# %%
allowed = causal(4) & not_padding(ids)                                  # (B, 1, T, T)
print(allowed.shape, " True in each sequence:", allowed.sum(axis=(1, 2, 3)))

# %% [markdown] en="354e12ab"
# 完整的三角形有 $1 + 2 + 3 + 4 = 10$ 个格子。短的序列只保留两个有效词元的列中的格子，即 $4 + 3 = 7$ 个。`Transformer` 构造的正是这个掩蔽：

# %%
model = Transformer(len(words), N=1, d_model=16, d_ff=32, h=2, rng=np.random.default_rng(0))
_, cache = model.forward(ids, ids)
name = "decoder.layers.0.self_attention.attention.weights"
print("the mask in its cache:", np.array_equal(attention_masks(cache)[name][:, :1], allowed))

# %% [markdown] en="7d754861"
# ## 5.5 真的管用吗？改变未来，看看结果
#
# 有一种检验不需要任何理论：改变解码器输入中的一个词元，看哪些输出会变。（模型的输出是 **logits**：在每个位置上，每个词有一个分数。它们的 softmax 就是预测。）为了比较，需要一个没有因果掩蔽的模型。`Transformer` 可以用任意的类作解码器层，所以一行代码就能埋下泄漏：它只取掩蔽的最后一行。最后一个位置可以看每个有效词元，所以这一行就只剩下填充掩蔽。

# %%
class LeakingDecoderLayer(DecoderLayer):
    def forward(self, x, memory, *, allowed=None, **options):
        not_causal = allowed[..., -1:, :]                               # (B, 1, 1, T)
        return super().forward(x, memory, allowed=not_causal, **options)


size = dict(N=2, d_model=32, d_ff=64, h=4)
honest = Transformer(task.vocab_size, **size, rng=np.random.default_rng(0))
leaking = Transformer(task.vocab_size, **size, decoder_layer=LeakingDecoderLayer,
                      rng=np.random.default_rng(0))                     # the same parameters

# %% [markdown] en="6e537157"
# > **预测：** 输入的位置是 0 到 6，位置 4 的词元改变了。在两个模型中，各有哪些位置的 logits 会变？

# %%
src, tgt_in, _ = task.test(1)                                           # (1, 7) each
changed = tgt_in.copy()
changed[0, 4] = task.bos                                                # any other token would do
for name, m in (("honest ", honest), ("leaking", leaking)):
    difference = np.abs(m(src, tgt_in) - m(src, changed)).max(axis=-1)[0]   # (T,)
    print(name, difference)

# %% [markdown] en="19fbfcf5"
# 有掩蔽时，位置 4 之前的 logits 一个比特也不差。没有掩蔽时，所有的 logits 都变了。改动一个词元，只是一个例子。雅可比矩阵则说明每个输出怎样依赖于每个输入。实验 `causality` 用反向传播测量了一个两层解码器的雅可比矩阵的所有块。每幅图中，一个输出占一行，一个输入占一列，从位置 0 开始：

# %%
jacobian = CAUSALITY.run()
jacobian.figure()

# %% [markdown] en="5f78730b"
# 左图中，对角线以上的每个格子都恰好是 0。右图中没有一个是 0：每个输出都依赖于每个输入。
#
# ## 5.6 泄漏对训练有什么影响
#
# 现在在 `reverse` 上训练这两个模型，初始参数相同，批量也相同。训练时，解码器读的是*真实的*目标序列，这叫**强制教学**（teacher forcing）。训练循环与第 10 课相同：400 步 Adam，学习率先升高，再降到 0，用对数损失。这里不需要知道其中的细节。图中画出预测正确的词元的比例。

# %%
def rate(step):                                                         # up to 0.01, then down to 0
    return 0.01 * min(step / 50, 1 - step / 401)


def trained(task, layer):
    model = small_model(task, seed=0, decoder_layer=layer)              # N = 1, d_model = 32
    history = learn(model, task, seed=0, steps=400, batch_size=32, schedule=rate)
    return model, [progress.accuracy for progress in history]


honest, honest_accuracy = trained(task, DecoderLayer)
leaking, leaking_accuracy = trained(task, LeakingDecoderLayer)

# %%
fig = new_figure(7, 3.5)
ax = fig.subplots()
steps = 10 * np.arange(1, 41)                                           # a point is the mean of ten
ax.plot(steps, np.reshape(honest_accuracy, (-1, 10)).mean(axis=1), color=COLORS[0], label="one of them")
ax.plot(steps, np.reshape(leaking_accuracy, (-1, 10)).mean(axis=1), color=COLORS[1], linestyle="--", label="the other")
ax.set(xlabel="step", ylabel="share of tokens right", title="Two models learn to reverse. Which one cheats?")
ax.legend()
fig

# %% [markdown] en="763462b7"
# 两条曲线都升到接近 1，所以在这个任务上，没有哪条训练曲线能看出泄漏。测试集如果也用强制教学，同样看不出来。那就让模型自己写。在**贪心解码**中，它读的是自己写出的词元，输入中没有答案。
#
# > **预测：** 用强制教学时，两个模型都能答对 90 % 以上的测试词元。解码时，它们各能完全正确地写出多少比例的测试*序列*？

# %%
test = task.test(200)
models = {"honest ": honest, "leaking": leaking}
forced = {name: scores(m, test)[1] for name, m in models.items()}
decoded = {name: exact_match(m, test, bos=task.bos, eos=task.eos) for name, m in models.items()}
for name in models:
    print(f"{name}  tokens right, teacher-forced {forced[name]:.2f}   sequences right, decoded {decoded[name]:.2f}")

# %%
source = task.source("3 1 4 2 5")
written = {name: greedy_decode(m, source, bos=task.bos, eos=task.eos, max_len=10) for name, m in models.items()}
for name, out in written.items():
    print("3 1 4 2 5  ", name, "writes", task.tokens(out[0]))

# %% [markdown] en="cf962768"
# 虚线是有泄漏的模型。它学会的是把输入向左抄一位，而不是反转。右边什么都没有时，它就没有东西可抄。图中是最明显地做这件事的两个头。从这里起，解码器的行标注为“读到的 → 要写的”（read → written）：解码器在这个位置读到的词元，即查询，以及它接下来要写的词元。在各列中找到这一行要写的词元，这一行看的就是那里。（最后一行没有东西可抄。）单元格对每个头统计：有多少个查询，最大权重落在对角线右边一位，也就是放着答案的那个键上。

# %%
src, tgt_out = task.source("3 1 4 2 5"), task.source("5 2 4 1 3")
tgt_in = np.array([[task.bos, *tgt_out[0, :-1]]])
_, cache = leaking.forward(src, tgt_in)
name = "decoder.layers.0.self_attention.attention.weights"
weights = attention_maps(cache)[name][0]                                # (h, T_q, T_k)
read, written_next = task.tokens(tgt_in[0]), task.tokens(tgt_out[0])
looks_right = weights[:, :-1].argmax(axis=-1) == np.arange(1, len(read))    # (h, T_q - 1)
print("largest weight one place to the right:", looks_right.sum(axis=-1), "of", len(read) - 1, "queries")
clearest = np.sort(looks_right.sum(axis=-1).argsort()[-2:])             # two heads
plot_attention(weights[clearest], [f"{r} → {w}" for r, w in zip(read, written_next)], read,
               titles=[f"head {i + 1}" for i in clearest], title="The leak, in the act")

# %% [markdown] en="b860c9bd"
# 因此，“我的模型学会了复制任务”并不是证据。有一种检验，通过训练就能暴露泄漏：用*谁都*不能预测的东西来训练。这里的目标是六面骰子的点数，每个样本都重新掷。
#
# > **预测：** 诚实的模型能答对多大比例的点数？有泄漏的模型呢？

# %%
class Dice(Task):
    name = "dice"
    rng = np.random.default_rng(0)

    def target(self, sequence):                                         # whatever the source says
        return self.rng.integers(3, 9, len(sequence))                   # ids 3 to 8


dice, accuracy = Dice(symbols=6, max_length=6), {}
for layer in (DecoderLayer, LeakingDecoderLayer):
    model, _ = trained(dice, layer)
    src, tgt_in, tgt_out = dice.test(500)
    right = model(src, tgt_in).argmax(axis=-1) == tgt_out               # (B, T)
    accuracy[layer] = right[tgt_out >= 3].mean()                        # the throws only
for layer, share in accuracy.items():
    print(f"{layer.__name__:20} throws right: {share:.2f}")

# %% [markdown] en="27c7092e"
# 诚实的模型大约每六次掷骰猜对一次，谁也不可能做得更好。做得更好的模型，一定看到了答案。（这能查出训练已经学会利用的泄漏。第 5.5 节的雅可比矩阵能查出任何泄漏。）
#
# ## 5.7 一次算所有位置，还是一次算一个：是同一个函数
#
# 训练时，一遍就算出所有位置的 logits。解码时做不到：要先有词元 $t$，才能求词元 $t + 1$。那么，模型解码时所计算的，就是训练它去计算的东西吗？把前缀一个接一个地交给模型，每次取最后一个位置，再与并行的一遍比较。

# %%
def step_by_step(model, src, tgt):
    memory, _ = model.encode(src)
    real = not_padding(src)
    last = [model.decode(tgt[:, : t + 1], memory, memory_allowed=real)[0][:, -1]    # (B, vocab_size)
            for t in range(tgt.shape[1])]
    return np.stack(last, axis=1)                                       # (B, T, vocab_size)


src, tgt_in, tgt_out = task.test(1)
gap = {}
for name, m in models.items():
    m.astype(np.float64)                                                # training was in float32
    gap[name] = np.abs(m(src, tgt_in) - step_by_step(m, src, tgt_in)).max()
for name, difference in gap.items():
    print(f"{name}  one pass against {tgt_in.shape[1]} passes: largest difference {difference:.0e}")

# %% [markdown] en="7bc064bc"
# 对诚实的模型，差别只是舍入误差。因为有因果掩蔽，在长的一遍中，位置 $t$ 只是到 $t$ 为止的前缀的函数，与别的都无关；而解码时有的正好是这个前缀。所以，对 $T$ 个词元算一遍，就同时训练了 $T$ 个预测，每个预测都基于自己的前缀。掩蔽不会损失任何一个预测：它藏起来的东西，在模型写作时还不存在。有泄漏的模型，在训练中是一个函数，在使用中是另一个函数。
#
# 由此还可以得出一点。前面的位置从来不看后面的位置，所以增加一个词元时，它们的键和值不变。解码器可以把它们保存下来：这就是**键值缓存**（KV cache），每个从左到右写作的语言模型都有。`greedy_decode` 也使用它。
#
# ## 5.8 选读：形状错误的掩蔽
#
# 只要形状合得上，NumPy 就会广播，所以掩蔽放错了轴，训练也不会报错。因此，本库只接受布尔值，并且只接受两种形式：(T_q, T_k)，或者轴数与分数相同。下面是三个常见的错误：

# %%
attention = ScaledDotProductAttention()
Q = rng.standard_normal((2, 3, 4, 8))                                   # (B, h, T, d_k)
real = ids != 0                                                         # (B, T)
for mistake in (real, real[:, None, :], real.astype(int)):
    try:
        attention(Q, Q, Q, allowed=mistake)
    except (TypeError, ValueError) as error:
        print(type(error).__name__ + ":", error, end="\n\n")

# %% [markdown] en="e41e85ab"
# 前两条消息指出了本来应有的形状 (2, 1, 1, 4)。如果批量中 $B = T$，就没有哪种检查能发现 (B, T) 的掩蔽，因为它这时是合法的 (T_q, T_k) 掩蔽。正因为如此，`not_padding` 有四个轴。

# %% [markdown] en="a3716497"
# ## 5.9 选读：在训练好的模型里试一试
#
# > **预测：** 一个*带着*因果掩蔽训练出来的模型，解码时不用因果掩蔽。它的带掩蔽自注意力的注意力图会是什么样子？它复制 `3 1 4 1 5` 还正确吗？
#
# 打开[没有因果掩蔽的复制模型](../../docs/live/copy.html#src=3+1+4+1+5&kind=decoder_self&layer=1&head=0&what-if=mask&lang=zh)。先按“From the start”（从头开始），再按“Next”（下一步），每次一个词元，看两幅注意力图怎样一步步变大。

# %% [markdown] en="751ae24f"
# 注意力图的右上半边填满了：`<bos>` 那一行原来只能看自己，现在它看得到后面写出的一切。复制仍然正确。下一个词元由最新的一行写出，而它就是最后一行，后面没有什么可以让掩蔽去藏。变的只是前面的各行。它们通过第二层影响最新的一行，在那里使概率稍有变化。泄漏损害的是*学习*，而这个模型是在掩蔽之下学会的。

# %% [markdown] en="8d7220a5"
# ## 5.10 检验本课的结论

# %%
assert np.abs(masked[1, :2] - alone[0]).max() < 1e-12 < np.abs(batch[1, :2] - alone[0]).max()
assert np.allclose(ways["-inf before"][:3], ways["(three keys)"], rtol=0, atol=1e-12)
assert (change[ids != 0] == 0).all()                    # nobody reads padded outputs
assert (grad_x[ids == 0] == 0).all()
assert not np.triu(jacobian.masked, 1).any()            # no output depends on a later input
assert forced["leaking"] > 0.9                          # looks learned
assert decoded["leaking"] < 0.1 < 0.9 < decoded["honest "]
assert accuracy[DecoderLayer] < 0.3 < 0.9 < accuracy[LeakingDecoderLayer]
assert gap["honest "] < 1e-12 < gap["leaking"]
print("all true")

# %% [markdown] en="f84afbae"
# ## 小结
#
# - 批量需要填充，而填充若不掩蔽，就会改变输出。用了 `not_padding`，序列在批量中的输出与单独计算时相同。
# - 查询不许看的地方，掩蔽在 softmax *之前*放入 $-\infty$：这样，这个键也就从分母中消失了。
# - 要掩蔽的是键的列。查询的行不需要掩蔽：没有谁会读填充的输出，它的梯度恰好为零。
# - 因果掩蔽使位置 $t$ 只依赖于到 $t$ 为止的位置。所以，所有位置一遍就能训练，而一次一个词元的解码，计算的是同一个函数。
# - 在能够完全学会的任务上，训练曲线看不出泄漏。（在别的任务上，损失会低得没有人能解释。）能看出泄漏的是解码、雅可比矩阵，以及能预测骰子的模型。
#
# ## 问题
#
# **1.** 对记忆的注意力也有掩蔽。它是因果的吗？
#
# <details><summary>答案</summary>
#
# 对记忆的掩蔽不是因果的：它是 `not_padding(src)`。写第一个词元之前，整个源序列就已经知道，所以每个目标位置都可以看源序列的每个有效词元。源序列里没有未来。
#
# </details>
#
# **2.** 你在解码器的自注意力中忘了填充掩蔽，只保留了因果掩蔽。填充都在右边。对有效位置来说，有什么变化？
#
# <details><summary>答案</summary>
#
# 没有变化。右边的填充排在每个有效位置之后，因果掩蔽已经把它藏起来了。填充在左边时就有影响：这时，最前面的几行除了填充什么也看不到。编码器没有因果掩蔽，所以不管填充在哪里，它都需要填充掩蔽。
#
# </details>
#
# **3.** 解码器的输入不再右移，于是位置 $t$ 读到词元 $t$，又要预测词元 $t$。因果掩蔽还在。这是泄漏吗？
#
# <details><summary>答案</summary>
#
# 这是彻底的泄漏：掩蔽允许看对角线，所以每个位置都读到了自己的答案。掩蔽和右移缺一不可，论文第 3.1 节把两者都写上了。只有右移之后，“$j \le i$”的意思才是“已经写出”。
#
# </details>
