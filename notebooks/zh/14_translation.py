# %% [markdown] en="c6af0d40"
# # 第 14 课 · 翻译：从原始文本到它的注意力图
#
# | | |
# |---|---|
# | **你将做什么** | 把一行行文本变成句对；学出字节对编码的词表，第一步手工做；按长度组成批量；用几秒钟训练一个翻译模型；用它从未见过的数来测试；两种语言的词序不同时，测量它看哪里 |
# | **你将学到** | 什么是“词片”，由谁决定在哪里切开单词；填充的代价；怎样区分正确的翻译和相似的翻译；怎样用对照来检验“它对齐了单词” |
# | **需要** | 第 10 课和第 11 课；填充见第 5 课 |
# | **论文** | 第 5.1 节、第 6.1 节、第 3.2.3 节 |
# | **时间** | 40 分钟，不含标有*选读*的部分（运行其中的单元格，跳过文字。后面的部分都用不到它们） |
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

# %% [markdown] en="a6993db9"
# 这一课比其他课多用两个包：SentencePiece 学习词表，sacreBLEU 给翻译评分。

# %%
for package in ("sentencepiece", "sacrebleu"):
    if importlib.util.find_spec(package) is None:
        if "ipykernel" not in sys.modules:
            raise ImportError(f"{package} is missing: pip install 'aiayn-np[text]'")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import tempfile
from collections import Counter

import numpy as np

from aiayn_np import Transformer, attention_maps, plot_attention
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.runs.text_start import start
from aiayn_np.text.batches import Batches, arrays
from aiayn_np.text.bleu import bleu
from aiayn_np.text.number_words import number_words, write_number_words
from aiayn_np.text.pictures import plot_text_training
from aiayn_np.text.translation import translate
from aiayn_np.text.vocabulary import PAD, Vocabulary

np.set_printoptions(precision=2, suppress=True)

# %% [markdown] en="3ea7e1f6"
# 这一课在文本上训练整个图 1。

# %%
figure_1("embedding", "positions", "encoder", "decoder", "output_projection", "softmax")

# %% [markdown] en="855bcf0e"
# ## 14.1 成对的行
#
# 翻译模型从一个文件学习，文件的每一行是同一个句子的两种语言。这一课的语料库随本库附带，而且很小：一百万以下的数，用德语和英语的单词写出。

# %%
numbers = number_words()
for german, english in numbers.test[:5]:
    print(f"{german:46} {english}")
print({name: len(pairs) for name, pairs in numbers._asdict().items()})

# %% [markdown] en="ba1e9af8"
# 这里的翻译难在一点。德语先说个位：*drei und fünfzig* 是“三和五十”。英语说 fifty-three。模型不能从左到右走完源序列：它必须**交叉**。
#
# > **预测：** 对 *sieben hundert acht und vierzig*：模型写“forty”时应该看哪个词？写“eight”时呢？（先写下来。第 14.6 节的图用另一个数作了回答。）
#
# 数据分成三份是有理由的。在第一份上训练，在第二份上选择，第三份说明选得有多好。第三份的数都不能出现在第一份里，否则测的就是死记硬背：

# %%
lists = [{german for german, _ in pairs} for pairs in numbers]
print("in two lists:", [len(lists[a] & lists[b]) for a, b in ((0, 1), (0, 2), (1, 2))])
seen = {word for german, english in numbers.training for word in (german + " " + english).split()}
new = {word for german, english in numbers.test for word in (german + " " + english).split()} - seen
print("words of the test that training has not:", len(new))

# %% [markdown] en="d886b101"
# 测试中的每个*单词*都在训练中出现过，但没有一个*数*出现过。能翻译这些数的模型，已经学会了数是怎样构成的。
#
# ## 14.2 没有人写过的词表
#
# 模型读的是编号。如果给每个单词一个编号，新词就没有编号，而真实的文本每天都有新词。如果给每个字母一个编号，序列就会很长，而注意力的代价是长度的平方。论文第 5.1 节走中间道路：**字节对编码**（Sennrich 等，2016）。从字母开始。数一数哪两个相邻的单位最常见，把它们合成一个新的词片，然后重复。常见的单词最后成为整体，少见的单词分成几片；只要字母认识，就没有不认识的单词。
#
# > **预测：** 想一想上面所有的行，包括两种语言。哪两个字母最常相邻？

# %%
lines = [line for pair in numbers.training for line in pair]
words = Counter(word for line in lines for word in line.split())
neighbours = Counter()
for word, count in words.items():
    for a, b in zip("_" + word, word):                                 # _ is the beginning of a word
        neighbours[a + b] += count
print(neighbours.most_common(5))

# %% [markdown] en="474aa8a9"
# `nd` 出现在 *und* 和 *and* 里，也出现在 *hundert* 和 *hundred* 里：两种语言共用一个词表，就能共享它们共有的东西。SentencePiece 从这里接着做。在它的词片中，`_` 表示单词的开头，`</s>` 表示一行的结尾，注意力图和其他课一样，把后者叫作 `<eos>`。下面是它最先得到的词片，按合并的先后排列：

# %%
vocabulary = Vocabulary.train(lines, 200)
print(vocabulary.pieces(range(4, 16)))                                 # ids 0 to 3 are special
print(vocabulary.pieces(vocabulary.encode(["zwei und zwanzig"])[0]))
print(vocabulary.pieces(vocabulary.encode(["twenty-two"])[0]))

# %% [markdown] en="a565f81f"
# 第一个词片与手工得到的相同。应该做出多少个词片？词表的大小决定了什么是词元：

# %%
def pieces_of(size, pairs, test):
    """(pieces of a German test line, share of its words that are one piece, an example)."""
    vocabulary = Vocabulary.train([line for pair in pairs for line in pair], size)
    sources = [german for german, _ in test]
    ids = vocabulary.encode(sources)
    words = [word for source in sources for word in source.split()]
    whole = np.mean([len(row) == 2 for row in vocabulary.encode(words)])   # 2: with its </s>
    example = vocabulary.encode([test[0][0]])[0][:-1]
    return np.mean([len(row) - 1 for row in ids]), whole, " ".join(vocabulary.pieces(example))


print("size  pieces  whole words")
for size in (60, 100, 140, 200, 400):
    length, whole, example = pieces_of(size, numbers.training, numbers.test)
    print(f"{size:4} {length:7.1f} {whole:9.2f}    {example}")

# %% [markdown] en="6e48d3a0"
# 从 200 个词片起，每个德语单词都是一个词元。这正是这里想要的：行和列都是单词，注意力图才读得懂。
#
# 语料库在这里帮了忙，你应该知道这一点。德语把 *dreiundfünfzig* 写成*一个*单词，这个语料库却把它的各部分分开写。如果不分开呢？

# %%
def as_one_word(pairs):
    return [(german.replace(" ", ""), english) for german, english in pairs]


for size in (100, 140, 200, 400):
    length, _, example = pieces_of(size, as_one_word(numbers.training), as_one_word(numbers.test))
    print(f"{size:4} {length:7.1f}     {example}")

# %% [markdown] en="d2b11e10"
# 最常见的相邻单位会合并，不管它们是什么意思。像 *undfünfzig* 这样的词片是很好的编码，却不是单词：字节对编码不懂语法。在真实的文本里，两种词片都有。（问题 1 会回到这里。）
#
# ## 14.3 长度相近的批量
#
# 一个批量中的各行，要填充到其中最长一行的长度（第 5 课）。论文第 5.1 节说：“sentence pairs were batched together by approximate sequence length”（按大致的序列长度把句对组成批量）。下面说明为什么。
#
# > **预测：** 一行最多有十来个单词。按随机顺序组成批量，填充占全部位置的多大比例？按相近的长度组成批量呢？

# %%
ids = list(zip(*(vocabulary.encode(side) for side in zip(*numbers.training))))
batches = Batches(ids, 1000, seed=0)                                   # at most 1000 positions a side
real, padded = batches.tokens()
rng = np.random.default_rng(0)
shuffled, positions = rng.permutation(len(ids)), 0
for rows in np.array_split(shuffled, batches.per_epoch):
    src, _, tgt_out = arrays([ids[i] for i in rows])
    positions += src.size + tgt_out.size
print(f"{batches.per_epoch} batches, {real:,} tokens")
print(f"padding, any order       {1 - real / positions:.1%}")
print(f"padding, similar length  {1 - real / padded:.1%}")

# %% [markdown] en="13b62081"
# 填充和别的一样要计算，然后扔掉。另外，这里的一个批量，连同填充，最多有固定数目的*词元*，而不是固定的行数。所以短的行组成的批量行数多，每一步的计算量也就相差不大。

# %%
for step in (1, 2, 3):
    src, tgt_in, tgt_out = batches.batch(step)
    print(f"src {src.shape}, tgt {tgt_out.shape}")
print(vocabulary.pieces(tgt_in[0]), "is given, to be written is", vocabulary.pieces(tgt_out[0]), sep="\n")

# %% [markdown] en="19d8aaa1"
# ## 14.4 训练
#
# 模型很小：两边各 $N = 1$ 层，$d_{model} = 64$，$h = 4$ 个头。训练循环就是第 10 课的，结尾按论文第 6.1 节的做法：把最后几个状态平均。在终端里，做同样的事用下面的命令：
#
# ```bash
# python -m aiayn_np.text.number_words numbers
# aiayn-np train text --pairs numbers/training.tsv --validation-pairs numbers/validation.tsv --preset numbers
# ```
#
# 模型要把全部 7149 对看几遍，才能把其他的数几乎都翻译对？请看 `exact` 这一列，它是在 200 个测试数上算的。

# %%
folder = tempfile.TemporaryDirectory()
training, validation, *_ = write_number_words(folder.name)
run, _ = start(Path(folder.name) / "run", dict(pairs=training, validation_pairs=validation),
               preset="numbers")
model = run.model
untrained = Transformer(run.task.vocab_size, **run.config["model"], rng=np.random.default_rng(0))
sources, references = zip(*numbers.test)


def exact(model, n=500, **options):
    """The share of n test numbers that are translated without a mistake, and the translations."""
    out = translate(model, run.task.vocabulary, sources[:n], **options)
    return np.mean([a == b for a, b in zip(out, references)]), out


epochs = []
for progress in run.train():
    run.history.append(progress)
    if progress.step % run.batches.per_epoch == 0:
        epochs.append(exact(model, 200)[0])
        print(f"epoch {len(epochs):2}  loss {progress.loss:.2f}  exact {epochs[-1]:.1%}")
        if len(epochs) == 3:
            early = model.state_dict()                                 # for later
folder.cleanup()

# %%
fig = plot_text_training(run.history, title="Numbers, German to English")
fig.axes[0].set(yscale="log", ylim=(0.01, 7))
fig

# %% [markdown] en="7b2ea542"
# 把所有的训练句对都用过一遍，叫一个**迭代周期**（epoch）。三个迭代周期之后，模型翻译对了四分之三的数；六个迭代周期之后，我们观察的 200 个全对。验证曲线最后低于训练曲线，大概是因为暂退法（dropout）只在训练时起作用。在最后一个迭代周期中，比例略有下降：单个状态会跳动（第 10.8 节）。从这里起用的是最后几个状态的平均，它翻译的 500 个全对，见下一张表。
#
# 每个迭代周期之后都看一次测试，是为了*观察*，不是为了选择：迭代周期的数目在运行之前就定好了。如果在测试结果看上去最好的地方停下来，就等于用测试来训练。
#
# ## 14.5 完全相同，还是相似？
#
# 论文测量的是 BLEU（Papineni 等，2002）。它统计译文中由一个、两个、三个、四个连续单词组成的片段，有多大比例也出现在参考译文中，取这四个比例的几何平均；如果译文太短，还要降低。一个句子有许多好的译法，所以这对句子很公平。对数来说，它太宽松。取三个迭代周期之后的模型，再取最后的模型：
#
# > **预测：** 早期的模型有四分之三的数完全正确。它的 BLEU 大约是多少：60，75，90？

# %%
trained = run.trained()                                                # the last states, averaged
young = Transformer(run.task.vocab_size, **run.config["model"], rng=np.random.default_rng(0))
young = young.astype(np.float32)
young.load_state_dict(early)
print("                 exact    BLEU")
scores = {}
for name, chosen in (("untrained", untrained), ("after 3 epochs", young), ("at the end", trained)):
    share, out = exact(chosen)
    scores[name] = share, bleu(out, references).score
    print(f"{name:15} {share:6.1%} {scores[name][1]:7.1f}")

# %% [markdown] en="89b87f9b"
# BLEU 约为 90，尽管有四分之一的数是错的。在 *five hundred and eight thousand and fifty-eight* 中错一个数字，大多数连续的单词仍然是对的，而这个数是错的。看几个例子：

# %%
_, out = exact(young)
wrong = [(s, a, b) for s, a, b in zip(sources, out, references) if a != b]
for source, got, reference in wrong[:4]:
    print(f"source     {source}\nmodel      {got}\nreference  {reference}\n")

# %% [markdown] en="cf438e74"
# 束搜索能补救吗？它保留 4 个概率最大的开头，再从写完的行中取对数概率最好的一行。行越长，对数概率越低，所以要把这个数除以 $((5 + n)/6)^\alpha$，其中 $n$ 是长度，$\alpha = 0.6$（论文第 6.1 节；公式来自 Wu 等，2016）。

# %%
beam = exact(young, beam=4, alpha=0.6)[0]
print(f"after 3 epochs: greedy {scores['after 3 epochs'][0]:.1%}, beam 4 {beam:.1%}")

# %% [markdown] en="bf6331ec"
# 束搜索几乎没有补救什么。它找到的是模型认为更*可能*的行。如果模型对“什么更可能”判断错了，搜索再好也不会使它变对。

# %% [markdown] en="75d9abdc"
# ## 14.6 一次翻译的注意力图
#
# 现在来看图。每一行读了一个单词，写出下一个（第 11.2 节），标签把两个都写上；列是源序列的单词。图中是头 1，以及四个头的平均。

# %%
text, english = next(pair for pair in numbers.validation if pair[0].split().count("und") == 2)
source, written, weights, allowed = run.translation_attention(run.task.source(text))
rows = [f"{read} → {write}" for read, write in zip(["<bos>", *written], written)]
plot_attention(np.stack([weights[0], weights.mean(axis=0)]), rows, source,
               allowed=allowed[:1], titles=["head 1", "mean of the heads"], title=text)

# %% [markdown] en="0ae73a87"
# 沿着头 1 的各行往下看。写“twenty”、连字符和“three”时，它看的是 *zwanzig*、*und*、*drei*：倒着走。然后它继续向后看到 *tausend* 和 *vier*；写“fifty”、连字符和“two”时又一次倒转：*fünfzig*、*und*、*zwei*。其他的头做其中一部分，平均使它们变得模糊。所有的数都是这样吗？这能说服一个原先没想到会有这种现象的人吗？

# %% [markdown] en="36a6a24b"
# 下面的页面在你的浏览器里运行这样一个模型，你可以用自己的数来问它。它的各行只用读到的词元作标签：`_and` 这一行写 `_twenty`，`-` 这一行写 `seven`。
#
# > **预测：** 模型翻译 `vier hundert sieben und zwanzig`。`_and` 这一行看哪个德语单词，`-` 这一行又看哪个？如果这个头静音，翻译还对吗？
#
# 打开[数词翻译模型，显示头 1](../../docs/live/number_words.html#src=vier+hundert+sieben+und+zwanzig&kind=cross&layer=0&head=0&query=3&key=4&lang=zh)，再按下头 1 下面的“静音”。最后取消这个改动，把源词元 `_sieben` 换成 `_drei`。

# %% [markdown] en="fc7453ce"
# 在我们的模型中，`_and` 这一行看 `_zwanzig`，`-` 这一行看 `_sieben`，所以两者交叉。没有这个头，译文仍然是 *four hundred and twenty-seven*：其他的头也知道。换成 `_drei`，只有最后一个单词变成 *three*。
#
# ## 14.7 测量交叉
#
# 要提出可能出错的论断。如果德语是 `unit und tens`（个位 und 十位），英语是 `tens - unit`（十位 - 个位）：
#
# - 写十位的那一行，峰值在德语的十位上，它在 *und* **之后**；
# - 写个位的那一行，峰值在德语的个位上，它在 *und* **之前**；
# - 所以两者**交叉**：先写的那一行，在源序列中看得更靠后。
#
# 作为对照，取两个*不*改变次序的单词：`digit hundert` 和 `digit hundred`（数字加“百”）。如果一个头在那里也交叉，它就不是在跟着单词走。
#
# 例如，*acht und vierzig* 的位置是 0、1、2，英语是 `forty`、`-`、`eight`。如果 `forty` 这一行的峰值在 2，`eight` 这一行的峰值在 0，那么两个都对，而且它们交叉，因为 2 > 0。

# %%
def places(pieces, mark):
    return [i for i, piece in enumerate(pieces) if piece == mark]


def peaks(model, pairs):
    """(B, h + 1, T_tgt) where each row of each head peaks in the source; last: mean of the heads."""
    src, tgt_in, tgt_out = arrays(list(zip(*(vocabulary.encode(side) for side in zip(*pairs)))))
    _, cache = model.forward(src, tgt_in)
    (weights,) = (w for name, w in attention_maps(cache).items() if "cross" in name)
    weights = np.concatenate([weights, weights.mean(axis=1, keepdims=True)], axis=1)
    return src, tgt_out, weights.argmax(axis=-1)


def crossing(model, pairs):
    """Shares (h + 1, 3) for inverted and for ordered words: first right, second right, crossed."""
    found = {"inverted": [], "ordered": []}
    for source, target, peak in zip(*peaks(model, pairs)):
        source, target = vocabulary.pieces(source), vocabulary.pieces(target)
        for i, j in zip(places(source, "_und"), places(target, "-")):
            a, b = peak[:, j - 1], peak[:, j + 1]                      # rows of tens, of unit
            found["inverted"].append([a == i + 1, b == i - 1, a > b])
        for i, j in zip(places(source, "_hundert"), places(target, "_hundred")):
            a, b = peak[:, j - 1], peak[:, j]                          # rows of digit, of hundred
            found["ordered"].append([a == i - 1, b == i, a > b])
    return {name: np.mean(rows, axis=0).T for name, rows in found.items()}


labels = [f"head {i + 1}" for i in range(4)] + ["mean"]
on_validation = crossing(trained, numbers.validation)
print("validation    tens right, unit right, crossed")
for label, row in zip(labels, on_validation["inverted"]):
    print(f"{label:10}", *(f"{share:11.2f}" for share in row))

# %% [markdown] en="51744298"
# 候选有五个。选出最好的一个，再报告它在同样这些数上的成绩，就会犯第 11.3 节的错误。所以在验证集上选：每个候选有十位和个位两个比例，取其中较小的一个，再选这个数最大的候选。然后在测试集上报告，只报告一次。对照说明碰巧能得到多少：次序不变的单词，以及从未训练过的模型。
#
# > **预测：** 对选出的这一个：次序颠倒的单词有多少交叉，次序不变的单词有多少？在未训练的模型中呢？

# %%
best = on_validation["inverted"][:, :2].min(axis=1).argmax()
after, before = crossing(trained, numbers.test), crossing(untrained, numbers.test)
print(f"chosen on validation: {labels[best]}\n")
print("test                     1st right  2nd right  crossed")
for name, shares in (("trained", after), ("untrained", before)):
    for kind in ("inverted", "ordered"):
        print(f"{name:10} {kind:10}  ", *(f"{share:10.2f}" for share in shares[kind][best]))

# %% [markdown] en="621761dc"
# 次序颠倒的单词交叉，次序不变的不交叉，而在未训练的模型中，两个比例相差不大：0.31 和 0.22。可是，没有人告诉过模型哪个单词对应哪个：数据中没有对齐，只有成对的行。这正是 Bahdanau 等（2015）的发现，论文采用的正是他们的注意力；不同的是，这里的世界很小，正确答案是已知的。
#
# 在次序不变的单词中，第二个单词很少被找到，所以那里的“不交叉”也可能是“没有看”。这次测量*没有*说总是这个头（换别的随机种子，会选出另一个），没有说每个头都这样（五个候选的表说明不是），也没有说它对每个单词都成立。写“hundred”时，选出的这个头很少看 *hundert*：解码器也许不看就知道后面必定是“hundred”，也许从另一个头得知。而且，看对了单词的头，不一定是模型需要的头（第 11.7 节）。注意力图提出一个好问题；它不回答这个问题。

# %% [markdown] en="cfe7b0d6"
# ## 14.8 选读：它看哪里，有影响吗？
#
# 在注意力图本身上做一次实验。对编码器-解码器注意力隐藏一个源单词，而且只在那里隐藏：编码器仍然读到它。然后给出前面正确的单词，看模型会写哪个单词。
#
# > **预测：** 隐藏德语的十位。编码器已经混合了各个单词，所以模型仍然知道英语的十位吗？个位也会受影响吗？

# %%
one_und = [pair for pair in numbers.test if pair[0].split().count("und") == 1]
src, tgt_in, tgt_out = arrays(list(zip(*(vocabulary.encode(side) for side in zip(*one_und)))))
und, hyphen = vocabulary.encode(["und"])[0][0], vocabulary.encode(["twenty-two"])[0][1]
row = np.arange(len(src))
column, between = (src == und).argmax(axis=1), (tgt_out == hyphen).argmax(axis=1)   # (B,) each


def right_words(hide):
    """Shares of English tens and of units that are right if the word at und + hide is hidden."""
    memory, _ = trained.encode(src)
    allowed = (src != PAD)[:, None, None, :]                           # (B, 1, 1, T_src)
    if hide is not None:
        allowed[row, 0, 0, column + hide] = False
    logits, _ = trained.decode(tgt_in, memory, memory_allowed=allowed)
    right = logits.argmax(axis=-1) == tgt_out                          # (B, T_tgt)
    return right[row, between - 1].mean(), right[row, between + 1].mean()


by_hiding = {"nothing": right_words(None), "the tens": right_words(1), "the unit": right_words(-1)}
print("hidden     tens right  unit right")
for name, shares in by_hiding.items():
    print(f"{name:10}", *(f"{share:10.2f}" for share in shares))

# %% [markdown] en="599c723b"
# 每个单词都随着它的源单词一起失去，旁边的单词几乎不受影响。（靠猜测，十位能猜对八分之一，个位能猜对九分之一。）编码器把所有单词一起读了，本可以把十位放进它的任何一个位置；它却把十位留在了原处。所以在这里，权重确实对应着作用：隐藏这个位置，模型就不知道这个单词。层数更多时，不一定如此。
#
# ## 14.9 检验本课的结论

# %%
assert not any(lists[a] & lists[b] for a, b in ((0, 1), (0, 2), (1, 2)))
assert not new                                                         # each word was seen
assert vocabulary.pieces([4]) == [neighbours.most_common(1)[0][0]]     # the first merge, by hand
assert pieces_of(200, numbers.training, numbers.test)[1] == 1          # words are tokens
backwards = ["_zwanzig", "_und", "_drei", "_fünfzig", "_und", "_zwei"]   # the picture of 14.6
assert any([source[j] for j in head.argmax(axis=1)[[0, 1, 2, 8, 9, 10]]] == backwards for head in weights)
assert 1 - real / padded < 0.5 * (1 - real / positions)                # what sorting saves
assert scores["at the end"][0] >= 0.99 > scores["after 3 epochs"][0]
assert scores["after 3 epochs"][1] > 100 * scores["after 3 epochs"][0]  # BLEU is kinder
assert after["inverted"][best, 2] > 0.9 > 0.5 > after["ordered"][best, 2]
assert after["inverted"][best, :2].min() > 0.7 > before["inverted"][best, :2].max()
assert by_hiding["the tens"][0] < 0.5 < by_hiding["the tens"][1]
assert by_hiding["the unit"][1] < 0.5 < by_hiding["the unit"][0]
print("all true")

# %% [markdown] en="7456291c"
# ## 小结
#
# - 从文本到训练：成对的行，两种语言共用一个字节对编码词表，长度相近、词元数大致相同的批量。
# - 字节对编码合并常见的东西。那往往是单词，但它不懂语法。
# - 三份数据：在一份上训练，在另一份上选择，在第三份上报告。测试中的数，不在另外两份里。
# - BLEU 奖励相似；只有逐一比较是否完全相同，才能说明一个数是否正确。
# - 没有人给过模型对齐。两种语言交换两个单词的地方，它的注意力交叉；不交换的地方，就不交叉。下这样的论断，要有对照，还要在别的数据上选头。
#
# 换成真实的句子，做法相同，只是用半小时而不是几秒钟：[怎样在网上的语料库上训练](../../aiayn_np/text/README.md)。
#
# ## 问题
#
# **1.** 德语写成一个单词、词片有 200 个时，*dreiundfünfzig* 可能是 `drei` + `undfünfzig`。注意力图还能显示交叉吗？如果有 400 个词片，*dreiundfünfzig* 可以是一个词片呢？
#
# <details><summary>答案</summary>
#
# 第一种情况下能显示：十位和个位仍然是两列。第二种情况下不能：一列同时代表两者，所以写“fifty”的行和写“three”的行都看那里。翻译可能和以前一样好，但模型怎样处理次序，就藏在一个词片的嵌入里了。注意力图只显示词元*之间*发生的事，所以它取决于词表，而词表是为另一个目的选定的。
#
# </details>
#
# **2.** 从训练数据中去掉所有像 200 428 这样的数：六位数，第一位后面是两个零。7149 对中少了 745 对，但每个*单词*都还在。这样的数，模型能翻译对几个？其他的呢？
#
# <details><summary>答案</summary>
#
# 三份数据中这样的数共有 852 个，模型一个也没有翻译对；其他测试数有 450 个，它对了 449 个（用随机种子 0 试过一次；这一课不运行它）。*zwei hundert tausend fünf hundert eins* 变成“two hundred and five thousand, five hundred and one”。在模型见过的所有数里，*hundert* 和 *tausend* 之间总有东西，所以它从后面借了一个来。它学会了训练数据的模式，并以新的方式组合它们；它没有学会数是什么。因此，抽取语料库时，让零的每种模式都经常出现：如果均匀抽取，一百个六位数中只有一个是这样的。
#
# </details>
#
# **3.** 一位同事按测试集上的交叉比例，从 24 个头中取最好的一个，并报告这个结果。测试数有 500 个。这比在我们的五个候选中选更糟吗？
#
# <details><summary>答案</summary>
#
# 更糟：候选越多，其中最好的那个就越能靠运气显得好，而测试已经无法分辨。比例接近 1 而且有 500 个数时，运气的成分很小；比例居中而且数很少时，就不小了（第 11.3 节）。在验证集上选，不花任何代价，还能消除疑问。
#
# </details>
