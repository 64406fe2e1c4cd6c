# %% [markdown] en="a8a90801"
# # 第 15 课 · 从这里到真实的模型
#
# | | |
# |---|---|
# | **你将做什么** | 把第 14 课的翻译模型写成 Hugging Face 的文件夹，再打开它；一次改一个小差别，把论文的解码器变成 GPT-2，再建立一个小的 BERT；用保留的键和值来生成；找出一句译文依赖哪些单词 |
# | **你将学到** | GPT-2、BERT 和 OPUS-MT 改了什么，没改什么；下载的模型里，各个文件装着什么；对输入的梯度说明什么，不说明什么 |
# | **需要** | 第 9 课和第 14 课；规范化见第 7 课 |
# | **论文** | 第 3 节（全部），以及后来的发展 |
# | **时间** | 35 分钟 |
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

# %% [markdown] en="d9365042"
# 这一课多用三个包：SentencePiece 把文本切成词片，safetensors 读取权重，sacreBLEU 给翻译评分。

# %%
for package in ("sentencepiece", "safetensors", "sacrebleu"):
    if importlib.util.find_spec(package) is None:
        if "ipykernel" not in sys.modules:
            raise ImportError(f"{package} is missing: pip install 'aiayn-np[pretrained,text]'")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import inspect
import json
import os
import tempfile

import numpy as np

from aiayn_np import (
    DecoderLayer,
    EncoderLayer,
    LearnedPositionalEncoding,
    ReLU,
    Softmax,
    Transformer,
    check_gradients,
    not_padding,
    plot_attention,
)
from aiayn_np.decoding.generation import GrowingText, WholeText, generate
from aiayn_np.interop import marian_format
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import COLORS, new_figure
from aiayn_np.pretrained import load_marian
from aiayn_np.runs.open import open_run
from aiayn_np.runs.text_start import start
from aiayn_np.text.number_words import number_words, write_number_words
from aiayn_np.text.translation import translate
from aiayn_np.variants.activations import GELU, SiLU, TanhGELU
from aiayn_np.variants.embeddings import SinusoidsInHalves, UnscaledEmbedding
from aiayn_np.variants.layer_options import layer_factory
from aiayn_np.variants.masked import MaskedLanguageModel
from aiayn_np.variants.models import LanguageModel
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

np.set_printoptions(precision=2, suppress=True)

# %% [markdown] en="a1e48068"
# 对照图 1，这一课要问：两个半边，后来的模型保留了什么？GPT-2（Radford 等，2019）保留图中亮起的方框：右半边，去掉对源序列的注意力和它的 Add & Norm。BERT（Devlin 等，2018）保留左半边。OPUS-MT（Tiedemann 和 Thottingal，2020）两边都保留：它是一千个翻译模型的集合。

# %%
figure_1("tgt_embedding", "tgt_positions", "decoder.self_attention", "decoder.add_norm_1", "decoder.feed_forward",
         "decoder.add_norm_3", "output_projection", "softmax")

# %% [markdown] en="f231e9c3"
# ## 15.1 别人怎样保存模型
#
# 许多训练好的模型存放在同一个网站 Hugging Face 上，文件夹的格式是统一的。OPUS-MT 的翻译模型也在那里。它们是用一个叫 Marian 的程序训练的，所以这种格式的名字是 *marian*。第 14 课训练过一个数词翻译模型。这里重新训练它六个迭代周期，再用这种格式写出来。在终端里，命令是 `aiayn-np export runs/text numbers-de-en --to marian`。

# %%
work = tempfile.TemporaryDirectory()
place = Path(work.name)
training, validation, *_ = write_number_words(place / "numbers")
run, _ = start(place / "run", dict(pairs=training, validation_pairs=validation), preset="numbers", epochs=6)
run.history = list(run.train())
folder = place / "numbers-de-en"
folder.mkdir()
for line in marian_format.write(run, folder):
    print(line)
for path in sorted(folder.iterdir()):
    print(f"{path.stat().st_size:9,}  {path.name}")

# %% [markdown] en="d3a1b429"
# 前几行说明写出时改变了什么：Marian 的层规范化用 $\epsilon = 10^{-5}$，这几乎不改变任何 logit。然后是三类文件。`model.safetensors` 装着数，safetensors 是一种简单的数组格式。`config.json` 说明模型有多大，以及它在少数几个选项中选了哪些。其余的文件把文本变成编号。**没有一个文件里有程序**：这些数是什么意思，写在程序库里，例如你读过的这个库。

# %%
config = json.loads((folder / "config.json").read_text())
for name in ("d_model", "encoder_layers", "encoder_attention_heads", "activation_function", "scale_embedding",
             "decoder_start_token_id"):
    print(f"{name:24} {config[name]}")

# %% [markdown] en="8d9955c2"
# ## 15.2 打开它
#
# > **预测：** 两边各一层，文件里一共有多少个数组？（每个注意力有四个矩阵，每个矩阵都有一个偏置。每个前馈网络有两个带偏置的矩阵。每个规范化有两个数组。此外有 $E$，还有论文所没有的一个 logits 偏置。）

# %%
loaded = load_marian(folder)
state = loaded.state()
print(len(state), "arrays, such as")
for name in list(state)[:6]:
    print(f"{name:48} {state[name].shape}")

# %%
sources, references = zip(*number_words().test)
before = translate(run.trained(), run.task.vocabulary, sources)
after = translate(loaded.decoding_model(), loaded.vocabulary, sources)
print(f"{sum(a == b for a, b in zip(before, after))} of {len(sources)} translations are the same")

# %% [markdown] en="dbd72be4"
# 文件里有 44 个数组：编码器层 16 个（注意力 8 个，前馈网络 4 个，规范化 4 个），解码器层 26 个，还有 $E$ 和 logits 的偏置。`loaded.model` 背后的类就是第 9 课的 `Transformer`。它与论文有五个小差别，还有一处论文没有说：
#
# | 什么 | 论文 | OPUS-MT 模型 |
# |---|---|---|
# | 注意力的投影 | 没有偏置 | 有偏置（我们的写成了零） |
# | 激活函数 | ReLU | 大多是 SiLU（我们的是 ReLU） |
# | 正弦曲线 | 正弦和余弦交替 | 先是全部正弦，再是全部余弦 |
# | logits | $x E^T$ | $x E^T + b$ |
# | 目标序列的第一个词元 | 开始词元 | 填充词元 |
# | 层规范化的 $\epsilon$ | 没有说 | $10^{-5}$ |
#
# 正弦曲线的次序没有影响。如果*每个*矩阵的通道（即词元的各个特征）都一起换位置，没有一个 logit 会改变：设矩阵 $P$ 只调换位置，则 $(x P)(P^\top W) = x W$。写文件的函数就是这样调换的；上一个单元格表明，译文没有变。
#
# 第一个词元是个陷阱。我们的掩蔽会隐藏填充。那样的话，第一个词元就被隐藏了，第一行就没有东西可看。所以我们的模型在 $E$ 中多了一行，即一个开始词元，它的数与填充的相同：

# %%
print("rows of E:", len(loaded.model.src_embedding.E.value), "  pieces:", loaded.V, "  the start is id", loaded.bos)

# %% [markdown] en="2ed1423c"
# ## 15.3 其他激活函数
#
# 论文的前馈网络用 ReLU。OPUS-MT 的模型大多用 SiLU，即 $x\,\sigma(x)$，其中 $\sigma(x) = 1 / (1 + e^{-x})$。GPT-2 和 BERT 用 GELU（Hendrycks 和 Gimpel，2016），即 $x\,\Phi(x)$：$\Phi(x)$ 是标准正态分布在 $x$ 以下的比例。两者都给 $x$ 乘一个 0 和 1 之间的因子。
#
# > **预测：** 在 $x = -1$ 处，ReLU 是 0。另外两个在那里大于 0 还是小于 0？

# %%
x = np.linspace(-4, 3, 300)
fig = new_figure(4.6, 5)
axes = fig.subplots(2, 1, sharex=True)
for color, activation, style in zip(COLORS, (ReLU(), GELU(), SiLU()), ("-", "--", ":")):
    y, cache = activation.forward(x)
    for ax, values in zip(axes, (y, activation.backward(np.ones_like(x), cache))):
        ax.plot(x, values, style, color=color, label=type(activation).__name__, linewidth=2)
axes[0].set(title="activation", ylabel="y")
axes[1].set(title="its derivative", xlabel="x", ylabel="dy / dx")
axes[0].legend()
at = np.array([-1.0])
print(" ".join(f"{type(a).__name__} {a(at)[0]:.3f}" for a in (ReLU(), GELU(), SiLU())))
fig

# %% [markdown] en="b1f509cb"
# 在那里两者都小于 0，而且导数不是零：略低于 0 的单元仍然在学习。根据乘积法则，GELU 的导数是 $\Phi(x) + x\,\varphi(x)$，其中 $\varphi = \Phi'$ 是正态分布的密度。GPT-2 用的是 GELU 的一种 tanh 近似，即 `TanhGELU`。三者的反向传播都用复数步长检验：

# %%
rng = np.random.default_rng(0)
points = rng.standard_normal((3, 5))
proven = {cls.__name__: bool(check_gradients(cls(), points)) for cls in (GELU, TanhGELU, SiLU)}
print(proven)

# %% [markdown] en="6b6978e2"
# ## 15.4 半个 Transformer：GPT-2 和 BERT
#
# GPT-2 是解码器，去掉了对源序列的注意力，因为没有源序列。BERT 只有编码器。它们还改了这些：
#
# | | 论文 | GPT-2 | BERT |
# |---|---|---|---|
# | 哪一半 | 两半都有 | 解码器 | 编码器 |
# | 掩蔽 | 解码器中用因果掩蔽 | 因果掩蔽 | 除了填充，没有掩蔽 |
# | 规范化 | 每个 Add 之后 | 每个子层之前，最后还有一个 | 每个 Add 之后 |
# | 激活函数 | ReLU | GELU，用 tanh 近似 | GELU |
# | 注意力中的偏置 | 没有 | 有 | 有 |
# | 位置 | 正弦曲线 | 可学习 | 可学习 |
# | 嵌入 | $E$ 乘 $\sqrt{d_\text{model}}$ | $E$ | $E$，加上表示第一句或第二句的向量，再规范化 |
# | 训练时要猜 | 目标序列的下一个词元 | 下一个词元 | 隐藏起来的词元 |
#
# 下一个单元格把论文的解码器变成一个小的 GPT-2，一次改一个差别，每改一次就证明它的全部梯度。参数都是随机数。然后建立一个小的 BERT，再对两者改动一段文本中的一个词元：

# %%
sizes = dict(N=2, d_model=24, d_ff=48, h=3, max_len=64)
ids = rng.integers(1, 50, (1, 8))
chosen, steps_proven = {}, []
for difference, options in (
    ("decoder without a source", dict(layer=EncoderLayer)),           # and with a causal mask
    ("norm before each sub-layer", dict(layer=PreNormEncoderLayer)),
    ("GELU, by tanh", dict(layer=layer_factory(PreNormEncoderLayer, activation=TanhGELU))),
    ("biases in attention", dict(layer=layer_factory(PreNormEncoderLayer, activation=TanhGELU, bias=True))),
    ("learned positions", dict(positions=LearnedPositionalEncoding)),
    ("E without its factor", dict(embedding=UnscaledEmbedding)),
):
    chosen |= options
    gpt2 = LanguageModel(50, pad=None, rng=rng, **chosen, **sizes)
    steps_proven.append(bool(check_gradients(gpt2, ids)))
    print(f"{difference:28}{sum(p.value.size for p in gpt2.parameters()):7,} parameters  {'proven' if steps_proven[-1] else 'wrong'}")

bert = MaskedLanguageModel(
    50, layer=layer_factory(EncoderLayer, bias=True, activation=GELU), rng=rng, **sizes)
changed = ids.copy()
changed[0, 5] = ids[0, 5] % 49 + 1
for name, model in (("GPT-2", gpt2), ("BERT", bert)):
    moved = np.abs(model(changed) - model(ids)).max(axis=-1)[0]
    print(f"{name:6}", np.where(moved > 0, "moved", "-"))

# %% [markdown] en="444eab7e"
# 规范化移到前面之后，栈的末端多了一个规范化；偏置和可学习的位置也增加了参数；GELU 和去掉因子没有增加参数。改动的是位置 5。在 GPT-2 中，只有从那里开始的位置改变：这就是因果掩蔽。在 BERT 中，所有位置都改变，因为每个位置左右都读。所以 BERT 不能用猜下一个词元来训练，因为它看得见下一个词元。训练时，要它猜的是没有给它看的词元。
#
# GPT-2 一个接一个地写词元。有了因果掩蔽，前面的位置永不改变（第 5.7 节），所以它们的键和值可以保留。单元格显示 `GrowingText` 怎样做：只有新词元经过各层，其余的由各层的注意力保留。
#
# > **预测：** 写一段 60 个词元的文本。如果为每个词元重新计算整个前缀，一共要计算多少个位置？保留键和值时呢？

# %%
print(inspect.getsource(GrowingText.next_logits))
whole, growing, steps = WholeText(gpt2), GrowingText(gpt2), 60
text = rng.integers(1, 50, (1, steps))
largest, computed = 0.0, [0, 0]
for t in range(steps):
    a, b = whole.next_logits(text[:, t : t + 1]), growing.next_logits(text[:, t : t + 1])
    largest = max(largest, float(np.abs(a - b).max()))
    computed = [computed[0] + t + 1, computed[1] + 1]
print(f"positions: {computed[0]} and {computed[1]}, largest difference of a logit {largest:.0e}")
print(list(generate(gpt2, [7, 8, 9], steps=8, temperature=0)))

# %% [markdown] en="155a722a"
# 所有前缀加起来有 1 + 2 + … + 60 = 1830 个位置。保留键和值时，只计算 60 个。logits 相同。
#
# GPT-2 之后的模型又改了几个部分。下面是最常见的改动，以及提出它们的论文：
#
# | 原来的 | 今天的许多模型 | 它做什么 |
# |---|---|---|
# | 层规范化 | RMSNorm（Zhang 和 Sennrich，2019） | 除以均方根，不减均值 |
# | ReLU 或 GELU | SwiGLU（Shazeer，2020） | 一个线性映射经过 SiLU，再乘另一个线性映射 |
# | 加上去的位置 | 旋转位置（Su 等，2021） | 把查询和键旋转一个角度，角度随位置增大（第 8.4 节） |
# | 每个头各有键和值 | 分组查询（Ainslie 等，2023） | 几个头共用键和值，所以要保留的更少 |
#
# RMSNorm 在 `aiayn_np/variants` 里。其余的是很好的练习：每一个都只改动一个你认识的类。
#
# ## 15.5 它的注意力图
#
# 打开的模型，注意力图在它的缓存里，和以往一样。下面是数词模型。如果给它一个**下载的文件夹**（环境变量 `OPUS_MT=path`），同一个单元格画的就是真实的翻译模型。其他什么也不用改。

# %%
opened = open_run(os.environ.get("OPUS_MT", folder))
sentence = os.environ.get("SENTENCE", "fünf hundert drei und zwanzig")
src = opened.task.source(sentence)
source, written, weights, _ = opened.translation_attention(src)
rows = [f"{read} → {write}" for read, write in zip(["<start>", *written], written)]
looked = weights.mean(axis=0)                                          # (T_tgt, T_src), of the last layer
print(opened.task.text(opened.decode(src)[0]))
plot_attention(weights, rows, source, title="the heads of the last layer")

# %% [markdown] en="91e31653"
# 每一行读了一个词元，写出下一个（第 11.2 节）。列是源序列的单词。英语先说十位，后说个位；德语先说个位，后说十位：所以在头 1 中，写 *twenty*、连字符和 *three* 的三行倒着走。
#
# ## 15.6 一个词元依赖哪些单词？
#
# 注意力图说明一层看了哪里。它不说明词元依赖什么（第 11.7 节）。另外两种测量直接问模型本身：
#
# - **梯度**。如果一个源单词的向量稍微移动，写出的词元的对数概率会改变多少？用模型自己的反向传播一直传回到这些向量，再取每个梯度的长度。这样的图叫作显著图（saliency map，Simonyan 等，2013）。
# - **隐藏**。像第 14.8 节那样，对解码器隐藏一个源单词，词元会失去多少对数概率？
#
# $\log p$ 对 logits 的梯度是 $\mathbb{1}[\text{token}] - p$（第 2.6 节）。这里不单独取一个 logit：给所有 logits 加同一个常数，不改变任何概率。
#
# > **预测：** 模型在“five hundred and twenty-three”中写 *twenty*。哪个源单词的梯度最长？隐藏哪个单词，损失最大？

# %%
model, softmax = opened.trained(), Softmax()
_, tgt_in, tgt_out = opened.example(src)
steps = np.arange(tgt_out.shape[1])


def gradient_lengths(t):
    """Lengths of the gradients of log p(token t) by the vectors of the source words, (T_src,)."""
    logits, cache = model.forward(src, tgt_in)
    grad = np.zeros_like(logits)
    grad[0, t] = -softmax(logits[0, t])
    grad[0, t, tgt_out[0, t]] += 1
    grad = model.output_projection.backward(grad, cache.output_projection)
    _, grad_memory = model.decoder.backward(grad, cache.decoder)
    grad_x = model.encoder.backward(grad_memory, cache.encoder)        # (1, T_src, d_model)
    return np.sqrt((grad_x**2).sum(axis=-1))[0]


def log_probability(hidden=None):
    """log p of every written token, (T_tgt,), where one source word is hidden from the decoder."""
    memory, _ = model.encode(src)
    allowed = not_padding(src, model.pad)                              # (1, 1, 1, T_src)
    if hidden is not None:
        allowed[..., hidden] = False
    logits, _ = model.decode(tgt_in, memory, memory_allowed=allowed)
    return np.log(softmax(logits[0])[steps, tgt_out[0]])


lengths = np.array([gradient_lengths(t) for t in steps])
lost = np.stack([log_probability() - log_probability(j) for j in range(src.shape[1])], axis=1).clip(0)
shares = [x / x.sum(axis=1, keepdims=True) for x in (lengths, lost)]   # (T_tgt, T_src), rows sum to 1
plot_attention(np.stack([looked, *shares]), rows, source, quantity="share of the row",
               titles=["looked at", "length of the gradient", "loss when hidden"])

# %%
print(f"{'token':10}{'looked at':12}{'gradient':12}hidden")
for t, word in enumerate(written):
    print(f"{word:10}" + "".join(f"{source[int(x[t].argmax())]:12}" for x in (looked, *shares)))

# %% [markdown] en="82476a00"
# 对 *twenty*，隐藏 *zwanzig* 损失最大；对 *three*，隐藏 *drei* 损失最大。七个词元中有五个，三列给出的是同一个单词。*hundred* 和 *and* 的梯度在别的单词上最长，而且分散在许多单词上。隐藏则为每个词元给出一个单词。（对 *and*，它是句末的词元：隐藏一个位置，就隐藏了编码器放在那里的一切，而那不一定是这个单词。）两者问的是不同的问题：梯度问的是向量的极小变化，隐藏则拿走整个单词。（如果隐藏一个单词使词元*更*可能，这里把它算作 0。）
#
# 所以，注意力图、梯度和隐藏是三种测量，每一种都需要自己的一句话来解释。注意力图显示的东西与模型需要的东西是什么关系，已有长久的争论：Jain 和 Wallace（2019），Wiegreffe 和 Pinter（2019）。这里只是一个句子、一个模型。
#
# 一个带偏置、SiLU 和 OPUS-MT 正弦曲线的小模型，用复数步长整体检验：

# %%
options = dict(bias=True, activation=SiLU)
small = Transformer(
    11, N=1, d_model=8, d_ff=12, h=2, positions=SinusoidsInHalves,
    encoder_layer=layer_factory(EncoderLayer, **options), decoder_layer=layer_factory(DecoderLayer, **options), rng=rng)
report = check_gradients(small, rng.integers(1, 11, (2, 4)), rng.integers(1, 11, (2, 3)))
print("proven" if report else "wrong")

# %% [markdown] en="b2bea9d6"
# ## 15.7 检验本课的结论

# %%
assert before == after                                                 # out and in: the same translations
assert len(state) == 44
assert all(proven.values())
assert all(steps_proven)
assert computed == [1830, 60]
assert largest < 1e-10
assert bool(report)
if "OPUS_MT" not in os.environ:
    missed = [source[int(x.argmax())].strip("_▁") for x in lost]
    assert any([source[j].strip("_▁") for j in head[3:6].argmax(axis=1)] == ["zwanzig", "und", "drei"]
               for head in weights)                                    # backwards
    assert [missed[3], missed[5]] == ["zwanzig", "drei"]               # for "twenty" and "three"
work.cleanup()
print("all true")

# %% [markdown] en="71605a8c"
# ## 小结
#
# - 下载的模型是数、规模和词表。程序就是你认识的那一个。
# - OPUS-MT 是论文的图 1，加上偏置，大多换了激活函数，logits 也有一个偏置。
# - GPT-2 是它的右半边，没有源序列；BERT 是它的左半边，加上一个猜单词的输出层。
# - 保留键和值，改变的是计算什么，没有一个 logit 改变。
# - 注意力图说明一层看了哪里，梯度说明极小的变化会带来什么，隐藏说明缺了什么会有损失。它们不必一致。
#
# ## 问题
#
# **1.** 为什么模型的所有通道可以换位置，为什么位置编码必须跟着一起换？
#
# <details><summary>答案</summary>
#
# 每个写通道的矩阵，后面都有读通道的矩阵、规范化和求和。如果它们都采用新的次序，每个和的各项就都相同。位置编码的表要加到通道上，所以必须采用同样的次序。正弦曲线交替排列与分成两半排列，差别就在这里。
#
# </details>
#
# **2.** BERT 的层没有因果掩蔽。如果训练它猜*下一个*词元，会出什么问题？
#
# <details><summary>答案</summary>
#
# 下一个词元是输入的一部分，每个位置都可以看它。损失会降到零，却什么也没有学到（第 5.6 节）。所以，要猜的词元在输入中隐藏起来。
#
# </details>
#
# **3.** 一个文件夹的 `config.json` 写了一个选项，而本库没有这个选项。应该忽略它吗？
#
# <details><summary>答案</summary>
#
# 不应该。模型会运行，但计算的东西与作者测量的不同。加载函数拒绝这样的文件夹，并指出是哪个选项。
#
# </details>
