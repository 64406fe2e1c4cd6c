# %% [markdown] en="77d67043"
# # 第 11 课 · 读注意力图：它说明什么，不说明什么
#
# | | |
# |---|---|
# | **你将做什么** | 训练三个模型，分别做复制、反转和排序；读它们的注意力图；把“这个头看着答案”变成一个带基线的数；把头静音，看什么会坏掉；改动输入，看什么会跟着变 |
# | **你将学到** | 注意力图的一行代表什么；给头找到一个“职责”有多容易，只要看得够久；为什么权重不等于作用；哪些实验能分辨这两者 |
# | **需要** | 第 1 课、第 5 课和第 6 课；模型怎样训练，见第 10 课 |
# | **论文** | 第 3.2.3 节、第 4 节末尾和附录中的图；另参考 Jain 和 Wallace（2019）、Michel 等（2019）、Kobayashi 等（2020） |
# | **时间** | 50 分钟，不含标有*选读*的部分（运行其中的单元格，跳过文字。后面的部分都用不到它们） |
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
import copy

import numpy as np

from aiayn_np import (
    CopyTask,
    ReverseTask,
    SortTask,
    attention_maps,
    attention_masks,
    greedy_decode,
    plot_attention_grid,
)
from aiayn_np.experiments.claims.head_jobs import (
    ANSWER,
    HEAD_JOBS,
    JOBS,
    cross_attention_heads,
    job_scores,
    job_table,
    solve,
)
from aiayn_np.experiments.learning import small_model
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import COLORS, draw_map, new_figure
from aiayn_np.training.loop import validate

np.set_printoptions(precision=2, suppress=True)

# %% [markdown] en="419da6a9"
# 对照图 1，这一课主要看解码器对源序列的注意力。

# %%
figure_1("cross_attention")

# %% [markdown] en="8fd88926"
# ## 11.1 三个模型
#
# 论文第 4 节以一个希望结尾：注意力“could yield more interpretable models”（可能得到更可解释的模型）。附录中的图里，一些头似乎学会了各自的职责。在翻译任务上，没有人知道一个头*应该*看哪里。在我们的三个任务上，答案是已知的。每个模型有 $N = 2$ 层，每层 $h = 4$ 个头，一直训练到 500 个验证序列全部正确为止。

# %%
models, tasks = {}, {}
for Task in (CopyTask, ReverseTask, SortTask):
    task = Task(symbols=6, max_length=6)
    model = small_model(task, seed=0, N=2, h=4)                        # d_model = 32, d_k = 8
    end = solve(model, task, seed=0, steps=1000)
    tasks[task.name], models[task.name] = task, model
    print(f"{task.name:8} {end.step} steps, validation {end.validation:.2f},"
          f" test sequences exact {validate(model, task, task.test(300)):.2f}")

# %% [markdown] en="441b82ad"
# `small_model` 建立一个小的 `Transformer`；`solve` 按第 10 课的方法训练它，直到验证序列全部正确。三个模型读的是下面同一个源序列。它有六个互不相同的符号，所以每个符号只在一个位置上出现。

# %%
def read(name, text="4 0 2 5 1 3"):
    """The cache of a model that reads a text, and labels: of the rows, of the columns."""
    task, src = tasks[name], tasks[name].source(text)                  # (1, T_src)
    answer = task.target(src[0, :-1])
    tgt_in = np.array([[task.bos, *answer]])                           # (1, T_tgt)
    logits, cache = models[name].forward(src, tgt_in)
    written = logits[0].argmax(axis=-1)
    rows = [f"{a} → {b}" for a, b in zip(task.tokens(tgt_in[0]), task.tokens(written))]
    return cache, rows, task.tokens(src[0])


for name in models:
    print(f"{name:8}", "   ".join(read(name)[1]))

# %% [markdown] en="edd0aac9"
# ## 11.2 一行代表什么？
#
# 在编码器-解码器注意力图中，一行对应解码器的一个位置。这个位置已经*读了*一个词元，要*写*下一个（第 5.4 节）。所以它有两个名字，这里的标签把两个都写出来：`4 → 0` 读了 4，写出 0。查询由读到的那个词元算出。
#
# > **预测：** 模型做的是复制。你认为 `<bos> → 4` 这一行的亮格在哪一列？`4 → 0` 这一行呢，在 4 还是在 0？

# %%
def cross_maps(cache):
    return {name: weights[0] for name, weights in attention_maps(cache).items() if "cross" in name}


cache, rows, columns = read("copy")
for name, weights in cross_maps(cache).items():
    print(name, weights.shape)                                         # (h, T_q, T_k)

# %%
plot_attention_grid(cross_maps(cache), rows, columns, title="copy: encoder-decoder attention, layers × heads")

# %% [markdown] en="0b421907"
# 看第 2 层的头 1。最亮的是要*写*的那个符号：`4 → 0` 这一行看的是 0。这些格子就是图的对角线 $(t, t)$。头 2 到头 4 只在大多数行中这样：头 3 在这一行看的是 4。许多图只用读到的词元标注各行；那样一来，同一张图看上去就像在看后面一位。解释对角线之前，先问清楚它的行是什么。
#
# 第 1 层没有这么清楚。所以要测量。
#
# ## 11.3 从观察到测量
#
# 关于一个头的论断是一句话：“它看着答案”。把它变成一个数：在 300 个测试序列上，这个头放在答案所在源位置上的平均权重。一个数需要**基线**：同样的平均值，但把每个源序列中的位置打乱。一个对位置一无所知的头，就能得到这么多。
#
# 先手工算一个头、一个序列。复制时，第 $t$ 行写的是位置 $t$ 上的符号，所以答案上的权重就是对角线：

# %%
weights = cross_maps(cache)["decoder.layers.1.cross_attention.attention.weights"][0]   # head 1
on_answer = weights[range(6), range(6)]                                # rows 0 to 5, each at its answer
print("on the answer", on_answer, "  mean", on_answer.mean().round(2))
rng = np.random.default_rng(0)
shuffled = [weights[range(6), rng.permutation(7)[:6]].mean() for _ in range(1000)]     # other places
print("shuffled 1000 times: mean", np.mean(shuffled).round(2))

# %% [markdown] en="f41d9d2a"
# `job_scores` 对每个头、每个序列都这样算，`ANSWER` 告诉它答案在哪里。
#
# > **预测：** 一个源序列有 6 个符号加上 `<eos>`，共 7 个位置。对这 7 个位置，基线大约是多少？多数测试序列要短一些：它们的基线更高还是更低？

# %%
def answer_scores(name, model):
    heads, lengths = cross_attention_heads(model, tasks[name].test(300))   # (n, N h, T_q, T_k), (n,)
    return job_scores(heads, lengths, ANSWER[name], np.random.default_rng(0))


untrained = {name: small_model(task, seed=0, N=2, h=4) for name, task in tasks.items()}
score, baseline = answer_scores("copy", models["copy"])                # (N h,) each
before, _ = answer_scores("copy", untrained["copy"])
print("heads             layer 1                layer 2")
for label, values in (("answer", score), ("shuffled", baseline), ("untrained", before)):
    print(f"{label:12}", " ".join(f"{value:.2f}" for value in values))

# %% [markdown] en="45277a84"
# 7 个位置的基线是 $1/7$，即 0.14。较短的源序列位置更少，所以平均值略高一点。第 2 层最好的头达到基线的三倍或更多，而未训练的头大约就在基线上。这算得上一个发现。
#
# 现在再问更多的职责：答案的前一位、后一位、第一个符号、最后一个符号、`<eos>`。
#
# > **预测：** 8 个头乘 6 种职责，有 48 个数。取*从未训练过*的模型。48 个数中最大的那个超出基线多少：完全不超出，约 0.02，还是更多？

# %%
def margins(name, model, seed=0):
    score, baseline = job_table(model, tasks[name], 300, seed)         # (N h, jobs) each
    return score - baseline


chance = []
for seed in range(5):
    table = margins("copy", small_model(tasks["copy"], seed, N=2, h=4), seed)
    head, job = np.unravel_index(table.argmax(), table.shape)
    chance.append(table.max())
    print(f"never trained, seed {seed}: head {head + 1} 'looks at' {[*JOBS][job]}: {table.max():+.2f} against shuffled")

# %% [markdown] en="0cc7a2ba"
# 虽然什么也没有学到，48 个数中最大的却超出基线 0.03 到 0.21。原因有两个。第一，随机投影会偏爱某些向量，而 `<eos>` 在每个序列中都是同一个向量：五个模型中有三个找到的正是它。第二，**做 48 次检验，很可能有一次碰巧成功**。所以，只有当超出量高于未训练模型能达到的最大值时，我们才说一个头有某种职责：

# %%
table, bar = margins("copy", models["copy"]), max(chance)
print(f"bar {bar:.2f}")
print(" " * 17, *(f"{job:>13}" for job in JOBS))
for i, row in enumerate(table):
    marks = (f"{m:+12.2f}" + ("*" if m > bar else " ") for m in row)
    print(f"layer {i // 4 + 1}, head {i % 4 + 1}  ", *marks)

# %% [markdown] en="86730d0b"
# 星号集中在一列上。论文的说法是，各个头“clearly learn to perform different tasks”（明显学会做不同的事，论文第 4 节）。后来有人在翻译模型上（Voita 等，2019）和 BERT 上（Clark 等，2019）发现了这一点。实验 `head_jobs` 在五个复制模型和五个反转模型上测量它：

# %%
if Path("../figures/head_jobs.json").exists():                         # what the whole experiment found
    jobs = HEAD_JOBS.load("../figures")
else:                                                                  # a small one, in seconds
    jobs = HEAD_JOBS.run(seeds=(0,))
print(jobs.finding)

# %% [markdown] en="6cc2cbfc"
# 图中每个点是一个头。点的高度是这个头在它看得最多的那个位置上的权重。空心圆表示没有任何职责超过门槛。

# %%
fig = new_figure(9, 4)
for i, ax in enumerate(fig.subplots(1, 2, sharey=True)):
    jobs.draw_scores(ax, i)
ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
fig

# %% [markdown] en="8748424e"
# 每个模型都有一些头看着答案，而且有职责的头大多是*同一种*职责。其他职责很少见，也不是每个模型都有。所以在这里，与论文的说法不同，职责不同是例外。也许任务只有一样东西要找，各个头就没有理由分化：第 6.7 节有四样东西要找。
#
# ## 11.4 反转与排序
#
# > **预测：** 在纸上画出注意力图：7 行，各列是 `4 0 2 5 1 3 <eos>`。模型做反转时，亮格在哪里？做排序时呢？

# %%
def places(name, src, n):
    """Where the answers to outputs 0 ... n - 1 stand in a source of n different symbols."""
    return np.argsort(src[:n]) if name == "sort" else ANSWER[name](np.arange(n), n)


def aligned_scores(name):
    """(score, baseline) on the answer, (N h,) each, in sources that have no symbol twice."""
    src, tgt_in, tgt_out = tasks[name].test(300)
    heads, lengths = cross_attention_heads(models[name], (src, tgt_in, tgt_out))
    rng, found = np.random.default_rng(0), []
    for weights, n, ids in zip(heads, lengths, src):
        if len(set(ids[:n])) == n:
            place = places(name, ids, n)
            found.append(job_scores(weights[None], [n], lambda t, n, place=place: place, rng))
    return np.mean(found, axis=0)

# %%
aligned, best = {name: aligned_scores(name) for name in models}, {}
for name, (scores, shuffled) in aligned.items():
    best[name] = head = int(scores.argmax())
    print(f"{name:8} layer {head // 4 + 1}, head {head % 4 + 1}:"
          f" on the answer {scores[head]:.2f}, shuffled {shuffled.mean():.2f}")

# %% [markdown] en="9d81c7a6"
# （这里的源序列都没有重复的符号。有重复时，头看哪一个都可以，所以第 11.3 节的数要低一些。）图中是每个模型的这个头。白圈是答案所在的位置。

# %%
fig, missed = new_figure(9, 3.2, layout="compressed"), {}
for ax, name in zip(fig.subplots(1, 3), models):
    cache, rows, columns = read(name)
    weights = np.concatenate(list(cross_maps(cache).values()))[best[name]]      # (T_q, T_k)
    answers = places(name, tasks[name].source("4 0 2 5 1 3")[0], 6)
    missed[name] = (weights[:6].argmax(axis=1) != answers).sum()
    image = draw_map(ax, weights, np.array(True), name)
    ax.plot(answers, range(6), "o", color="white",
            markersize=11, markerfacecolor="none")
    ax.set_xticks(range(7), columns, rotation=90)
    ax.set_yticks(range(7), rows)
    ax.set_xlabel("key (is asked)")
fig.colorbar(image, ax=fig.axes, label="attention weight")
fig

# %% [markdown] en="1d9a97e2"
# 复制得到对角线，反转得到反对角线。排序没有线：要写 0，模型就看 0 *所在*的地方，而每个源序列中这个地方都不同。注意力图可以遵循一条规则，却不呈现一条线。为此，排序模型要先知道下一个是*什么*，才能知道该看*哪里*。
#
# 反转模型的 `1 → 5` 行和排序模型的 `3 → 4` 行，白圈不在最亮的格子上。模型写出的结果仍然正确：每张图只画了八个交叉注意力头中的一个。
#
# ## 11.5 选读：有多集中？再看自注意力
#
# 集中程度可以这样度量：取一行的熵 $H = -\sum_j w_j \ln w_j$。$e^H$ 是这一行*实际上*看了多少个键：全部权重在一个键上时是 1，7 个键平分时是 7。
#
# > **预测：** 复制模型第 2 层的头，实际上看 7 个键中的几个：约 1 个，约 2 到 3 个，还是约 6 个？

# %%
def effective_keys(weights):
    """exp of the entropy, mean over sequences and rows: (n, h, T_q, T_k) -> (h,)"""
    logs = np.log(np.where(weights > 0, weights, 1))
    return np.exp(-(weights * logs).sum(axis=-1)).mean(axis=(0, 2))


examples = tasks["copy"].test(300)
full = (examples[0] != tasks["copy"].pad).all(axis=1)                  # the longest: 6 symbols
src, tgt_in, tgt_out = (ids[full] for ids in examples)
_, cache = models["copy"].forward(src, tgt_in)
_, cache_untrained = untrained["copy"].forward(src, tgt_in)

# %%
sharp = {}
for (name, weights), other in zip(attention_maps(cache).items(), attention_maps(cache_untrained).values()):
    name = name.removesuffix(".attention.weights")
    sharp[name] = effective_keys(weights), effective_keys(other)
    print(f"{name:32} trained {sharp[name][0]}   untrained {sharp[name][1]}")

# %% [markdown] en="fb951d9c"
# 第 2 层的交叉注意力头实际上看两三个键，第 1 层看三到五个，编码器的头看三到六个。没有一个头只看一个键。（解码器自注意力的一行可以看 1 到 7 个键，平均 4 个。）训练使交叉注意力更集中，第 2 层尤其明显。下面是解码器第一层的自注意力，源序列同上。

# %%
cache_one, rows, _ = read("copy")
name = "decoder.layers.0.self_attention.attention.weights"
maps, masks = {name: attention_maps(cache_one)[name][0]}, {name: attention_masks(cache_one)[name][0]}
plot_attention_grid(maps, rows, [row.split()[0] for row in rows], masks=masks, title="copy: decoder self-attention")

# %% [markdown] en="8a0a16cd"
# 你看到什么？也许是“这个头喜欢 `<bos>`”，“那个头看自己”。如果你错了，图会是什么样子？你能事先说出来吗？如果不能，那就只是一个故事。对交叉注意力，事先知道该期待什么；在这里，事先不知道。这一课余下的部分，要*不靠*故事来弄清什么才是重要的。
#
# ## 11.6 权重不等于作用
#
# 一个头给输出加上 $\sum_j w_{ij}\, v_j W^O$，其中 $W^O$ 只取属于它的那几行（第 6.3 节）。注意力图只显示 $w_{ij}$。很大的权重乘上很小的向量，什么也带不来。所以要看每个键能带来的向量有多大，即 $\lVert v_j W^O \rVert$。（Kobayashi 等（2020）在 BERT 中测量了它：权重最大的词元，带来的往往很少。）
#
# > **预测：** 用这个大小给注意力图的每个格子加权。有多大比例的行会换一个键排在第一：没有，少数，还是多数？

# %%
other_favourite = []
for layer, layer_cache in zip(models["copy"].decoder.layers, cache.decoder.layers):
    inner = layer_cache.cross_attention.attention
    W_O = layer.cross_attention.linear_O.W.value.reshape(4, 8, 32)     # (h, d_v, d_model)
    brings = np.linalg.norm(inner.V @ W_O, axis=-1)                    # (n, h, T_k)
    effect = inner.weights * brings[:, :, None, :]                     # (n, h, T_q, T_k)
    other_favourite.append((effect.argmax(-1) != inner.weights.argmax(-1)).mean(axis=(0, 2)))
    print(f"size of v W_O: from {np.quantile(brings, 0.05):.1f} to {np.quantile(brings, 0.95):.1f};"
          f"  another favourite, by head: {other_favourite[-1]}")

# %% [markdown] en="ea3438b4"
# 每五到十行中，有一行换了别的键排在第一。这些大小的十分之九，彼此相差不超过三倍左右，所以用这些大小加权以后，注意力图看上去几乎不变。对这个模型是这样；你的模型，要由你自己检查。
#
# 注意力图还漏掉了两样东西。一样是**残差**：Add & Norm 把各个头带来的东西加到早已在那里的 $x$ 上。另一样是**键**：位置 $j$ 上的键不是词元 $j$，而是记忆（memory），编码器已经在其中混合了各个词元。

# %%
for i, layer_cache in enumerate(cache.decoder.layers):
    c = layer_cache.cross_attention
    x = c.linear_Q.x                                                   # (n, T_q, d_model)
    attended = models["copy"].decoder.layers[i].cross_attention.linear_O(c.linear_O.x)
    print(f"layer {i + 1}: |x| {np.linalg.norm(x, axis=-1).mean():.1f},"
          f" all heads together {np.linalg.norm(attended, axis=-1).mean():.1f}")

# %%
changed = src.copy()
changed[:, 2] = 3 + (changed[:, 2] - 3 + 1) % 6                        # another symbol at position 2
memory, other = models["copy"].encode(src)[0], models["copy"].encode(changed)[0]
moved = np.linalg.norm(other - memory, axis=-1).mean(axis=0)           # (T_src,)
print("the memory moves, by position:", moved)

# %% [markdown] en="3b6f184e"
# 头带来的东西要加到 $x$ 上。在第 1 层，两者的大小之比约为三分之二；在第 2 层，两者几乎一样大。改动一个词元时，记忆中它自己的位置变化最大，其他位置的变化约为它的十分之一。所以在这里，“看位置 $j$”几乎就是“看词元 $j$”。在很深的编码器中不一定如此。
#
# ## 11.7 去掉一个头
#
# 一个头到底*做*什么？去掉它，数一数坏了多少。Michel 等（2019）就是这样测试一个翻译模型和 BERT 的头的。办法有两种。一种是**静音**（mute）：把它在 $W^O$ 中的那一块置零，于是它什么也不带来。另一种是**蒙眼**（blind）：把它在 $W^Q$ 中的那一块置零，于是它的分数全是 0，权重全部相等。蒙眼的头仍然会加上各个值的平均。

# %%
def without(model, kind, layer, heads, how):
    """A copy of the model in which some heads of one attention are muted or blind."""
    model = copy.deepcopy(model)
    attention = getattr(model.decoder.layers[layer], kind)
    for head in heads:
        block = slice(head * attention.d_k, (head + 1) * attention.d_k)
        if how == "mute":
            attention.linear_O.W.value[block] = 0                      # rows: W_i^O
        else:
            attention.linear_Q.W.value[:, block] = 0                   # columns: W_i^Q
    return model

# %% [markdown] en="d299a730"
# > **预测：** 轮流把复制模型的 8 个交叉注意力头静音，每次一个。平均有多大比例的测试序列仍能完全正确地复制：几乎没有，大多数，还是全部？如果把第 2 层的四个头同时静音呢？

# %%
def exact_without(name, kind, how):
    """Share of test sequences right without head 0, 1, ... of the decoder: (N h,)"""
    test = tasks[name].test(300)
    return np.array([validate(without(models[name], kind, head // 4, [head % 4], how), tasks[name], test)
                     for head in range(8)])


exact = {(name, kind, how): exact_without(name, kind, how) for name in models
         for kind in ("cross_attention", "self_attention") for how in ("mute", "blind")}
print("copy, one head less         layer 1               layer 2")
for (name, kind, how), shares in exact.items():
    if name == "copy":
        print(f"{kind:16} {how:6}", shares)
print(f"cross_attention  mute, mean of 8: {exact['copy', 'cross_attention', 'mute'].mean():.2f}")

# %%
test = tasks["copy"].test(300)
layers = [validate(without(models["copy"], "cross_attention", layer, range(4), "mute"), tasks["copy"], test)
          for layer in range(2)]
print("copy, all cross heads of a layer muted:", np.array(layers))
one, pair = ([validate(without(models["copy"], "cross_attention", 1, [a, *last], "mute"), tasks["copy"], test)
              for a in range(3)] for last in ([], [3]))
print("copy, head 1, 2 or 3 of layer 2 muted:", np.array(one), "  head 4 as well:", np.array(pair))

# %% [markdown] en="b4d5e3c1"
# 静音一个头，多数序列仍然复制得对；第 2 层的四个头都静音，几乎一个也不对。单独静音第 2 层的头 4，损失 8 % 的序列。如果头 1 已经静音，再静音头 4 就损失 30 %。所以这两个头可以互相替补；并不是每一对都如此。（Michel 等的发现也一样：多数头可以单独去掉。）对得最准的头，是不是静音后损失最大的头？把三个模型都问一遍。

# %%
muted = {name: exact[name, "cross_attention", "mute"] for name in models}


def called(head):
    return f"layer {head // 4 + 1}, head {head % 4 + 1}"


for name, shares in muted.items():
    print(f"{name:8} best aligned: {called(best[name])}, without it {shares[best[name]]:.2f};"
          f"  most missed: {called(shares.argmin())}, without it {shares.min():.2f}")

# %% [markdown] en="baf028d9"
# 图中每个点是一个交叉注意力头。越靠右，对得越准；越靠上，静音后的损失越大。点线是打乱位置得到的基线。

# %%
fig = new_figure(9, 3)
axes = fig.subplots(1, 3, sharex=True, sharey=True)
for ax, name in zip(axes, models):
    for layer, marker in enumerate("os"):
        weight, lost = (values.reshape(2, 4)[layer] for values in (aligned[name][0], 1 - muted[name]))
        ax.plot(weight, lost, marker, color=COLORS[layer], label=f"layer {layer + 1}")
    ax.axvline(aligned[name][1].mean(), color="0.5", linestyle=":")
    ax.set(xlabel="weight on the answer", title=name)
axes[0].set_ylabel("lost when muted")
axes[0].legend()
fig

# %%
for name in models:
    alone, blind = exact[name, "self_attention", "mute"], exact[name, "self_attention", "blind"]
    print(f"{name:8} self-attention heads: without the most missed one {alone.min():.2f},"
          f"   mean of all muted {alone.mean():.2f}, of all blind {blind.mean():.2f}")

# %% [markdown] en="e7974dc7"
# 这些数说明三件事：
#
# - 这三个模型中有两个，对得最准的头，也是静音后损失最大的头。第三个不是：也许别的头能替代它。每幅图八个点，不足以得出规律：对齐程度说明头看什么，静音说明它是否必需。一个模型只是一个样本，换一个随机种子，角色就会变。
# - 每个模型都有一个*自注意力*的头，没有它就会损失三分之二以上的序列，尽管我们没能用一句话说出它的注意力图在看什么。
# - 平均来说，静音的损失比蒙眼大。头带来的东西，有很大一部分与它看哪里无关：上面的层已经学会依赖它，哪怕只是各个值的平均。静音一个头使模型坏掉，原因可能与它的注意力图毫无关系。
#
# ## 11.8 改动输入
#
# 对模型最直接的提问是：*假如这个词元换成另一个，你会写出别的东西吗？*（Jain 和 Wallace（2019）把注意力图与这类提问的结果作了比较，发现两者常常不一致。Serrano 和 Smith（2019）的结论相同；Wiegreffe 和 Pinter（2019）则回应说，一种解释不必是唯一的解释。）把源序列的每个符号依次换成另外五个，让模型解码，再数每个输出变了多少次。
#
# > **预测：** 六个符号中改动一个。六个输出中有几个会变：复制时几个，排序时几个？

# %%
def influence(name, text="4 0 2 5 1 3"):
    """Share of the changes of source symbol j that change output t: (6, 6); and the share right."""
    task, src = tasks[name], tasks[name].source(text)                  # (1, 7)
    many = np.repeat(src, 30, axis=0)                                  # (30, 7)
    for j in range(6):
        for k in range(5):
            many[5 * j + k, j] = 3 + (src[0, j] - 3 + k + 1) % 6       # another symbol
    own, other = (greedy_decode(models[name], ids, bos=task.bos, eos=task.eos, max_len=7) for ids in (src, many))
    right = np.mean([np.array_equal(o[:6], task.target(s[:6])) for o, s in zip(other, many)])
    return (other != own)[:, :6].reshape(6, 5, 6).mean(axis=1).T, right    # (T_q, T_k)


moves = {name: influence(name) for name in models}
for name, (share, right) in moves.items():
    print(f"{name:8} outputs that change with one symbol: {share.sum() / 6:.1f}   (right after the change: {right:.2f})")

# %% [markdown] en="fbbb88d1"
# 复制和反转时，变一个输出；排序时变两三个：新符号去了另一个位置，中间的符号全都移动。下面是排序模型看什么，以及它的输出依赖什么：

# %%
cache, rows, columns = read("sort")
map_of_best = np.concatenate(list(cross_maps(cache).values()))[best["sort"]]
fig = new_figure(8, 3.4, layout="compressed")
for ax, values, title in zip(fig.subplots(1, 2), (map_of_best[:6, :6], moves["sort"][0]),
                             ("best head: looks at", "output: depends on")):
    image = draw_map(ax, values, np.array(True), title)
    ax.set_xticks(range(6), columns[:6])
    ax.set_yticks(range(6), rows[:6])
    ax.set_xlabel("source")
fig.colorbar(image, ax=fig.axes, label="left: weight, right: share")
fig

# %% [markdown] en="452c9609"
# 两张图都对，但它们不同。注意力图说明这个头看哪里：在大多数行中，看的是要写的那个符号。是不是轮到这个符号，则取决于其他符号：有几个比它小，不管它们在哪里。注意力图显示计算中的一步；输入改动的影响显示整个计算。

# %% [markdown] en="b385b2f4"
# 用一个学会了反转的模型，亲手试试这两种提问。它读的是 `4 0 2 5 1 3`。
#
# > **预测：** 源词元 `5` 换成 `7`：六个输出中有几个会变？如果换一种做法，只把*一行*权重变成均匀的，即第 2 层头 1 的 `<bos>` 那一行，第一个输出会变吗？
#
# 先打开[用 `7` 换掉 `5` 的模型](../../docs/live/reverse.html#src=4+0+2+5+1+3&kind=cross&layer=1&head=0&what-if=replace:3:7&lang=zh)，再打开[有一行均匀权重的模型](../../docs/live/reverse.html#src=4+0+2+5+1+3&kind=cross&layer=1&head=0&query=0&what-if=even:decoder.layers.1.cross_attention:0:0&lang=zh)。在那里选第 2 层的其他头，对每个头的 `<bos>` 行按下“Make the chosen row even”（把选中的行变均匀）。

# %% [markdown] en="6075cd87"
# 换掉词元，变一个输出，就是 `5` 要复制到的那一个。把一行变均匀，没有输出改变，尽管这个头原先几乎把全部权重放在一个词元上：另外三个头也看着那里。只有四个头的这一行都变均匀，第一个输出才会错。权重说明一个头看哪里，并不说明模型需要它看这里。
#
# ## 11.9 读你自己的图
#
# 在终端里，你可以用完整的规模训练任何一个任务，并查看每一幅注意力图：
#
# ```
# aiayn-np train reverse
# aiayn-np attend runs/reverse "3 1 4"
# ```
#
# 第二条命令会打印图片存放的位置。关于一张图，每作一个论断，都在旁边写下三样东西：那个数，它的基线，以及假如你错了就能揭穿你的实验。
#
# ## 11.10 检验本课的结论

# %%
assert all(validate(models[name], tasks[name], tasks[name].test(300)) > 0.95 for name in models)
assert score[4:].max() > 2.5 * baseline.mean()                         # trained heads align
assert before.max() < 0.25                                             # untrained ones do not
assert max(chance) > 0.1                                               # but some job is found
assert (table[:, 0] > bar).sum() > (table[:, 1:] > bar).sum()          # most have the same job
assert all(scores.max() > 2 * shuffled.mean() for scores, shuffled in aligned.values())
assert missed == {"copy": 0, "reverse": 1, "sort": 1}                   # rows beside the ring
assert np.allclose(effective_keys(np.full((1, 1, 2, 7), 1 / 7)), 7)
assert 1.5 < sharp["decoder.layers.1.cross_attention"][0].mean() < 4.5
assert 0.02 < np.mean(other_favourite) < 0.4                           # a minority
assert moved[2] > 4 * np.delete(moved, 2).max()                        # the memory stays in place
assert muted["copy"].mean() > 0.5                                      # others stand in
assert muted["copy"][4:].max() > 0.8                                   # one is hardly missed
for name in models:
    assert exact[name, "self_attention", "mute"].min() < 0.34          # self-attention is needed, too
    for kind in ("cross_attention", "self_attention"):                 # muting costs more
        assert exact[name, kind, "mute"].mean() < exact[name, kind, "blind"].mean()
assert any((np.argsort(-aligned[name][0]) != np.argsort(muted[name])).any() for name in models)
assert layers[1] < 0.3
assert sum(best[name] == muted[name].argmin() for name in models) == 2     # of these three models
assert all(np.array(pair) < one)                                        # a pair is missed more
assert moves["copy"][0].sum() / 6 < 1.2 < 1.5 < moves["sort"][0].sum() / 6
print("all true")

# %% [markdown] en="83182542"
# ## 小结
#
# - 交叉注意力图的一行，读了一个词元，写出下一个。标签要把两个都写上。
# - “这个头看着 X”是 X 上的平均权重，它要与打乱的位置比较，*还要*与未训练的模型比较：许多头乘许多职责，总会碰巧得到点什么。
# - 复制是对角线，反转是反对角线，排序根本没有线，而三者是同一种职责：看着要写的东西。
# - $e^H$ 是一行实际上看的键数。
# - 注意力图漏掉了值的大小、残差，以及键里面混进了什么。它不说明这个头是否必需。
# - 想知道这一点，就要干预：静音，蒙眼，改动输入。先比较静音和蒙眼，再归因于注意力图。对得准的头可能必需，也可能不必需。
#
# ## 问题
#
# **1.** 有人把一层所有头的注意力图平均起来，再去读这个平均。什么时候会误导人？
#
# <details><summary>答案</summary>
#
# 各个头做不同的事情时，就会误导人。一个头看前一位，一个头看后一位，平均起来像是两边各看一半，但没有一个头这样做；一个到处都看的头，还会使其他头显得暗淡。平均还把带来很少的头和带来很多的头同等看待（第 11.6 节）。
#
# </details>
#
# **2.** 一个源序列中符号 3 出现两次，模型做复制。在它的注意力图上，写 3 的那一行有两个亮格。它糊涂了吗？
#
# <details><summary>答案</summary>
#
# 对这个词元，它没有糊涂：两个位置都给出正确答案，所以损失无法区分它们。第 11.1 节选六个互不相同的符号，原因就在这里：如果有重复，“看答案那个符号”和“看答案那个位置”就分不开了。
#
# </details>
#
# **3.** 静音一个头，什么也没坏。它没用吗？
#
# <details><summary>答案</summary>
#
# 不一定没用。另一个头可能做同样的事，这里就是如此：去掉第 2 层的单个头，影响可以很小；成对去掉或四个全去掉就不行了（第 11.7 节）。它也可能服务于你的测试里没有的输入。你证明的只是：在*这些*序列上，*单独*缺少它，模型也能应付。
#
# </details>
