# %% [markdown] en="5f4f5be0"
# # 第 9 课 · 完整的 Transformer：前向与反向
#
# | | |
# |---|---|
# | **你将做什么** | 让一个批量穿过编码器和解码器，每个部件都由你自己调用，得到的 logits 与模型的结果一致到最后几位；再让梯度原路返回，弄清矩阵 $E$ 的三种用途各教会了它什么 |
# | **你将学到** | 图 1 的各个部件怎样组装在一起；为什么目标序列要移位；$p - q$ 是什么；怎样证明整个模型是对的；模型有多少参数；选读：训练时必须记住什么 |
# | **需要** | 第 1 课到第 8 课，至少看过图；反向传播需要第 4 课 |
# | **论文** | 第 3.1 节、第 3.4 节、第 5.4 节、图 1、表 3 |
# | **时间** | 45 分钟，不含标有*选读*的部分（运行其中的单元格，跳过文字。后面的部分都用不到它们） |
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
import inspect

import numpy as np

from aiayn_np import (
    CopyTask,
    LabelSmoothedCrossEntropy,
    Transformer,
    attention_maps,
    attention_masks,
    causal,
    check_gradients,
    not_padding,
    trace,
)
from aiayn_np.module import leaves
from aiayn_np.plotting.drawings import figure_1, model_gradients
from aiayn_np.plotting.figures import COLORS, MARKERS, new_figure
from aiayn_np.training.loss import ModelLoss

np.set_printoptions(precision=4, suppress=True, linewidth=100)

# %% [markdown] en="db98cd5b"
# 这一课讲整张图 1。

# %%
figure_1("embedding", "positions", "encoder", "decoder", "output_projection", "softmax")

# %% [markdown] en="f71d9e04"
# ## 9.1 一个小模型
#
# 这一课的模型，每个栈有两层，其他各处都很窄。除此以外，它就是论文的模型。

# %%
rng = np.random.default_rng(0)
task = CopyTask(symbols=8, max_length=5)
model = Transformer(task.vocab_size, N=2, d_model=16, d_ff=32, h=2, rng=rng)

def lines(thing, *starts):                                             # of what print(thing) would say
    return "\n".join(line for line in str(thing).splitlines() if line.startswith(starts))

print(lines(model, "Transformer", "encoder.layers.0", "61"))

# %% [markdown] en="8c152a15"
# `print(model)` 会列出每一个参数；这里只列出编码器第一层的参数。请与图 1 对照：名字就是那些方框，从下到上。
#
# > **预测：** 模型有一个源序列的嵌入、一个目标序列的嵌入，还有一个通向 logits 的投影。完整的列表中有几个矩阵 $E$？

# %%
names = dict(model.named_parameters())
print([name for name in names if name.endswith(".E")])
print(model.src_embedding.E is model.tgt_embedding.E is model.output_projection.E)

# %% [markdown] en="3fbdeed7"
# 列表中只有一个 $E$。这三层共用同一个 `Parameter`，而不是三个数值相等的参数（论文第 3.4 节）。第 9.6 节说明这对反向传播意味着什么。
#
# ## 9.2 输入什么：移位
#
# 下面是复制任务（copy）的一个批量，既写成词元编号，也写成词元。`src` 是要读的，`tgt_in` 是给解码器的，`tgt_out` 是它必须说出来的。

# %%
src, tgt_in, tgt_out = task.batch(3, rng)                              # (B, T) each
print(src.shape, tgt_in.shape, tgt_out.shape)
for name, ids in (("src", src), ("tgt_in", tgt_in), ("tgt_out", tgt_out)):
    print()
    for row in ids:
        print(f"{name:8}", *(f"{token:>5}" for token in task.tokens(row)))

# %% [markdown] en="e105fa10"
# `tgt_in` 就是 `tgt_out` 向右移一位，前面放上 `<bos>`。在每个位置上，解码器得到的是它要说的词元的*前*一个词元。（论文的说法是：“output embeddings are offset by one position”。）这样用正确的前缀来训练，就是强制教学（第 5.6 节）。短的序列用 `<pad>` 填满。
#
# > **预测：** 这个批量中有多少个预测会计入损失？（目标是 `<pad>` 的地方都不计。）

# %%
real = tgt_out != task.pad                                             # (B, T)
count = real.sum()
print(count, "of", real.size)

# %% [markdown] en="432afe2b"
# ## 9.3 前向传播，逐个部件
#
# `model.forward(src, tgt_in)` 只要调用一次。我们分九次来做，每次调用模型的一个部件。先是图 1 的左半边：编号变成向量，加上位置，然后经过两层。在每一层里，源序列的词元互相读取。

# %%
x = model.src_embedding(src)                                           # (B, T_src, d_model)
x = model.positions(x)                                                 # (B, T_src, d_model)
src_allowed = not_padding(src)                                         # (B, 1, 1, T_src)
for layer in model.encoder.layers:
    x = layer(x, allowed=src_allowed)                                  # (B, T_src, d_model)
    print("after an encoder layer", x.shape)
memory = x                                                             # (B, T_src, d_model)

# %% [markdown] en="afcf1be2"
# 不论经过哪一层，形状都不变。顶上出来的就是**记忆**（memory）。接下来是右半边。它的每一层接收两样东西，即目前为止的目标序列和记忆，并且各带一个掩蔽。

# %%
y = model.positions(model.tgt_embedding(tgt_in))                       # (B, T_tgt, d_model)
tgt_allowed = causal(tgt_in.shape[1]) & not_padding(tgt_in)            # (B, 1, T_tgt, T_tgt)
for layer in model.decoder.layers:
    y = layer(y, memory, allowed=tgt_allowed, memory_allowed=src_allowed)
    print("after a decoder layer ", y.shape)

# %% [markdown] en="d9f4afad"
# 解码器的两层读的是*同一个*记忆，也就是编码器顶端的输出，而不是旁边那一层编码器的输出。图 1 把一个栈画成一个方框，所以看不出这一点。最后，词表中的每个词得到一个分数，即 $y$ 与 $E$ 的每一行的点积。这些分数就是 **logits**。

# %%
by_hand = model.output_projection(y)                                   # (B, T_tgt, vocab_size)
logits, cache = model.forward(src, tgt_in)                             # the one call
print("logits", logits.shape, "  largest difference:", np.abs(by_hand - logits).max())

# %% [markdown] en="d626f1fb"
# 这就是整个模型。类用两个方法做同样的事。请把 `encode` 与本节第一个单元格逐行对照；`decode` 的写法也是这样：

# %%
print(inspect.getsource(Transformer.encode))

# %% [markdown] en="2721a3f6"
# 每一行都是同样的形式：一层的 `forward` 给出下一个 `x` 和它那一份缓存，缓存以这一层的名字保存。（暂退法在这里不起作用，因为没有人给它 `rng`。）图 1 中的 softmax 放在后面的损失里。
#
# ## 9.4 模型记住的一切都有名字
#
# 缓存中有反向传播需要的每一个数组。全部列出来太长，这里只看解码器一层中的一个注意力。
#
# > **预测：** 这里的源序列和目标序列都有 5 个位置。如果只把源序列加长，下面哪些数组会变长？

# %%
print(lines(cache, "decoder.layers.1.cross_attention"))

# %% [markdown] en="fda4d645"
# `linear_K.x` 和 `linear_V.x` 就是记忆，所以它们会变长。跟着变长的还有 `K`、`V`、掩蔽，以及注意力图的最后一个轴。`Q`、`K`、`V` 的第二个轴是头（第 6 课）。用一条带点的路径，就能指明一个模块、它的参数和它记住的东西：

# %%
place = "decoder.layers.1.cross_attention.linear_Q"
print(type(model.decoder.layers[1].cross_attention.linear_Q).__name__)
for kind, listed in (("parameter", model), ("cached", cache)):
    print(f"{kind:10}", lines(listed, place))

# %% [markdown] en="28d33b33"
# > **预测：** 这个模型有多少幅注意力图？（先在图 1 中数注意力，再数层。一个注意力的 $h = 2$ 个头算作一幅。）

# %%
maps, masks = attention_maps(cache), attention_masks(cache)
for name, weights in maps.items():
    print(f"{name:58} {weights.shape}  {masks[name][1, 0].sum():2} of {masks[name][1, 0].size} cells open")

# %% [markdown] en="59c2ab23"
# 有六幅：编码器每层一幅，解码器每层两幅，每幅都含有 2 个头的注意力图。最后一列是第二个序列的掩蔽留下的开放格子的个数。模型还没有训练，它*实际看*哪里只是噪声，所以这里只画出它可以看哪里。在编码器里，`<pad>` 关闭；在解码器里，后来的词元也关闭。解码器的一行已经读了一个词元，要写下一个；两个都标在这一行的前面。

# %%
def show(name, rows):
    for row, open_keys in zip(rows, np.broadcast_to(masks[name][1, 0], (len(rows), 5))):
        print(f"{row:>14}  ", *("■" if is_open else "·" for is_open in open_keys))

src_rows = task.tokens(src[1])
tgt_rows = [f"{read} → {write}" for read, write in zip(task.tokens(tgt_in[1]), task.tokens(tgt_out[1]))]
for name, rows in (("encoder.layers.0.self_attention", src_rows), ("decoder.layers.0.self_attention", tgt_rows),
                   ("decoder.layers.0.cross_attention", tgt_rows)):
    print(name)
    show(f"{name}.attention.weights", rows)

# %% [markdown] en="bb13beff"
# 在编码器-解码器注意力中，行是目标序列，列是源序列。源序列从一开始就全部在那里，所以只有它的 `<pad>` 关闭。
#
# ## 9.5 一个词元的损失
#
# 在一个位置上，模型有 11 个 logits $z$。softmax 由它们得出概率 $p$。模型应当说的也是一个分布，记为 $q$。（这里的 $q$ 不是查询。）使用**标签平滑**（论文第 5.4 节；Szegedy 等，2016）时，$q$ 给正确的词元 $1 - \epsilon_{ls}$，并把 $\epsilon_{ls}$ 平均分给全部 $|V|$ 个词元。损失是交叉熵
#
# $$-\sum_v q_v \log p_v .$$

# %%
z, target = logits[0, 0], tgt_out[0, 0]                                # (|V|,), one id
p = np.exp(z) / np.exp(z).sum()                                        # (|V|,)
eps_ls, V = 0.1, len(z)
q = np.full(V, eps_ls / V)                                             # (|V|,)
q[target] += 1 - eps_ls
print("p", p)
print("q", q)
print("loss", -(q * np.log(p)).sum())

# %% [markdown] en="86dde6a5"
# > **预测：** 一个什么都没学到的模型，给 11 个词元同样的概率。它的损失是多少？（$\ln 11$ 大约是 $2.4$。）完美的模型能达到 0 吗？

# %%
criterion = LabelSmoothedCrossEntropy(eps_ls=0.1)
even, _ = criterion.forward(np.zeros((1, V)), targets=target[None])
least, _ = criterion.forward(np.log(q)[None], targets=target[None])
one, _ = criterion.forward(z[None], targets=target[None])
loss, loss_cache = criterion.forward(logits, targets=tgt_out)
print(f"even {even:.4f}   perfect {least:.4f}   our token, by the class {one:.4f}   all {count} tokens {loss:.4f}")

# %% [markdown] en="9ce429d3"
# 不论 $q$ 是什么，给出均匀概率的模型，损失都是 $\ln 11$。完美的模型有 $p = q$，它的损失是 $q$ 的熵，而不是 0。所以，使用标签平滑时，训练曲线的终点高于零，而且理应如此。我们的模型未经训练，比均匀的模型更差：它不知道答案，但随机的 logits 偏爱某些词元，而且偏爱错了。批量的损失是对有效的目标（不含填充）求平均。
#
# 它的梯度很短。因为 $\log p_v = z_v - \log \sum_u e^{z_u}$，又有 $\sum_v q_v = 1$，所以损失是 $\log \sum_u e^{z_u} - \sum_v q_v z_v$，于是
#
# $$\frac{\partial\, \mathrm{loss}}{\partial z_v} = \frac{e^{z_v}}{\sum_u e^{z_u}} - q_v = p_v - q_v .$$
#
# 换成文字：模型所说的，减去它应当说的。对词元求平均，还要除以词元的个数。

# %%
grad_logits = criterion.backward(1.0, loss_cache)                      # (B, T_tgt, vocab_size)
print("largest difference from (p - q) / count:", np.abs(grad_logits[0, 0] - (p - q) / count).max())
print("sum over the vocabulary:", np.abs(grad_logits.sum(axis=-1)).max())
print("at <pad>:", np.abs(grad_logits[~real]).max())

# %% [markdown] en="178c0b45"
# ## 9.6 反向传播，逐个部件
#
# 回来的路经过同样的部件，次序相反。每一层都收到对它的输出的梯度，以及它自己的那一份缓存。下图画出这条路：红色箭头（red arrows）是损失的梯度，红字是各个方框要加上自己一份的那些参数；有三个箭头到达 $E$ 的梯度。

# %%
model_gradients()

# %%
model.zero_grad()
grad_y = model.output_projection.backward(grad_logits, cache.output_projection)
E_as_output = model.src_embedding.E.grad.copy()                        # (vocab_size, d_model)
print("grad_y at the top of the decoder", grad_y.shape)

# %% [markdown] en="de41204b"
# 解码器层有两个输入，所以返回两个梯度：一个给下面的层，一个给记忆。两层都用到了记忆，所以它的梯度要相加。

# %%
grad_memory = np.zeros_like(memory)                                    # (B, T_src, d_model)
for layer, layer_cache in zip(model.decoder.layers[::-1], cache.decoder.layers[::-1]):
    grad_y, from_layer = layer.backward(grad_y, layer_cache)           # (B, T, d_model) each
    grad_memory += from_layer
    print("gradient of the memory", from_layer.shape, f" length {np.linalg.norm(from_layer):.4f}")

# %% [markdown] en="cbe55210"
# 从这里起，梯度兵分两路：一路向下到目标序列的嵌入，一路经过记忆进入编码器。编码器对任务的全部了解，都来自这个梯度：只有解码器告诉它怎样编码才好，别的谁也不告诉它。
#
# > **预测：** 第二个源序列以填充结尾。记忆在那里的梯度是多少？

# %%
print("at real tokens:", np.abs(grad_memory[src != task.pad]).max())
print("at <pad>      :", np.abs(grad_memory[src == task.pad]).max())

# %%
before = model.src_embedding.E.grad.copy()
model.tgt_embedding.backward(model.positions.backward(grad_y, cache.tgt_positions), cache.tgt_embedding)
E_as_target = model.src_embedding.E.grad - before                      # (vocab_size, d_model)
grad_x = grad_memory
for layer, layer_cache in zip(model.encoder.layers[::-1], cache.encoder.layers[::-1]):
    grad_x = layer.backward(grad_x, layer_cache)                       # (B, T_src, d_model)
before = model.src_embedding.E.grad.copy()
model.src_embedding.backward(model.positions.backward(grad_x, cache.src_positions), cache.src_embedding)
E_as_source = model.src_embedding.E.grad - before                      # (vocab_size, d_model)

# %% [markdown] en="d1381d10"
# 把每一个梯度与一次调用 `model.backward` 的结果比较。

# %%
part_by_part = {name: p.grad.copy() for name, p in model.named_parameters()}
model.zero_grad()
model.backward(grad_logits, cache)
differences = [np.abs(p.grad - part_by_part[name]).max() for name, p in model.named_parameters()]
print(len(differences), "parameters, largest difference:", max(differences))

# %% [markdown] en="7d6ee64b"
# 现在来看用了三次的 $E$。每种用途都把自己的一份加到 `E.grad` 上，而我们把它们分开保存了。$E$ 的第 $v$ 行是词元 $v$；表中是这一行在每种用途中得到的梯度的长度。
#
# > **预测：** 哪种用途给*每一行*都带来梯度？`<bos>` 又从哪些用途得到梯度？

# %%
E_grad = model.src_embedding.E.grad                                    # (vocab_size, d_model)
uses = {"as source": E_as_source, "as target": E_as_target, "as output": E_as_output}
print("sum of the three against E.grad:", np.abs(sum(uses.values()) - E_grad).max())
print(" " * 9, *(f"{token:>6}" for token in task.tokens(range(V))))
for name, part in uses.items():
    print(name, *(f"{length:6.3f}" for length in np.linalg.norm(part, axis=1)))

# %% [markdown] en="c426e188"
# 用作输出时，每一行都得到梯度：在每个位置上，每个词元都可能是答案，就连永远不会是正确答案的 `<pad>` 和 `<bos>` 也不例外。只要 $p$ 大于 $q$，梯度就把它们的 logits 往下压。用作嵌入时，只有读到过的行才学到东西：源序列中没有 `<bos>`，`tgt_in` 中没有 `<eos>`，而从 `<pad>` 没有梯度回来。所以 `<bos>` 在用作目标序列的嵌入和用作输出时得到梯度。
#
# ## 9.7 一张表看完全程
#
# `trace` 在模型的副本上做一次前向传播和一次反向传播。它记下每一层算什么、有哪些形状、输出的范数，以及这个输出的梯度的范数。`print(whole)` 显示全部内容，行很宽。这里只看最外面的层，取四列：

# %%
whole = trace(model, src, tgt_in, tgt_out)

def short(components):
    print(f"{'layer':34}{'output':14}{'|output|':>9}{'|gradient|':>12}")
    for c in components:
        print(f"{c.path or 'the model':34}{c.output!s:14}{c.activation:9.3f}{c.gradient:12.4f}")

short(c for c in whole.components if c.depth <= 1)

# %% [markdown] en="7e4e2123"
# 次序就是前向传播的次序。`positions` 和 `dropout` 出现两次，一次为源序列，一次为目标序列。最后一列要从下往上读：这就是梯度走的路。你可以深入查看任何一层，想看多深都行：
#
# > **预测：** 在这里，层规范化的输出有 $3 \cdot 5 \cdot 16 = 240$ 个元素，平方平均为 1。在 |output| 一列中，每个 `add_norm` 旁边的数是多少？

# %%
short(c for c in whole["decoder.layers.1"].components if c.depth <= 1)

# %%
norms = [c.activation for c in whole.components if c.layer == "LayerNorm"]
print(f"{len(norms)} layer norms, from {min(norms):.3f} to {max(norms):.3f}   √240 = {240**0.5:.3f}")

# %% [markdown] en="8fc74297"
# 每次都是 $\sqrt{240}$：不论子层给出什么，下一个子层收到的大小都一样。把 trace 的结果放在单元格末尾，它会显示为一张含有所有列的表：试试 `whole["decoder.layers.1.cross_attention"]`，其中有图 2 的各个方框。
#
# ## 9.8 对整个模型的证明
#
# 大多数部件已经逐个证明过（第 4 课、第 6 课和第 7 课）。它们组装得对吗？`ModelLoss` 把模型和损失当作一层，而 `check_gradients` 像对待别的层一样证明它。（在终端里，`aiayn-np check` 做的也是这件事。）因为有 `rng`，暂退法已启用（用论文的暂退率）；在检验中的每一次前向传播里，它都相同。

# %%
criterion = LabelSmoothedCrossEntropy(0.1, task.pad)
report = check_gradients(ModelLoss(model, criterion), src, tgt_in, targets=tgt_out, rng=rng)
text = str(report).splitlines()
print(*text[:6], "...", *text[-3:], sep="\n")

# %% [markdown] en="6fe99c64"
# 检验把 61 个张量的梯度与复数步长的结果比较，先逐个比较，再全部一起比较。如果漏了一行代码呢？下面这个模型漏掉了 `backward` 的最后一行，也就是源序列对 $E$ 的那一份贡献。
#
# > **预测：** 这时 62 行中有几行出错？

# %%
forgetful = copy.deepcopy(model)
forgetful.src_embedding.backward = lambda grad_y, cache: None          # the source teaches E nothing
wrong = check_gradients(ModelLoss(forgetful, criterion), src, tgt_in, targets=tgt_out, rng=rng)
for row in wrong.rows:
    if not row.ok:
        print(f"{row.tensor:25} {row.verdict[:50]}")
print(str(wrong).splitlines()[-1])

# %% [markdown] en="8eaa3f77"
# 有两行出错：$E$ 这一行，和全部一起的那一行。其余 60 行都是对的，所以这样的模型可以训练，损失也会下降。正因为如此，损失下降证明不了什么（第 4.7 节）。也要留意另一面：这个检验拿反向传播与*这个*前向传播比较。如果前向传播是错的，而反向传播与它相符，检验照样通过。
#
# ## 9.9 有多少参数？
#
# 来数方框。一个注意力有四个矩阵，每个 $d_\mathrm{model}^2$ 个数；一个前馈网络有 $2\, d_\mathrm{model}\, d_{ff} + d_{ff} + d_\mathrm{model}$ 个数；一个规范化有 $2\, d_\mathrm{model}$ 个数。编码器层有一个注意力和两个规范化，解码器层有两个注意力和三个规范化，两者都有一个前馈网络。再加上 $E$，只算一次：
#
# $$|V|\, d_\mathrm{model} + N \big[\, \underbrace{4 d_\mathrm{model}^2 + F + 4 d_\mathrm{model}}_{\text{encoder layer}} + \underbrace{8 d_\mathrm{model}^2 + F + 6 d_\mathrm{model}}_{\text{decoder layer}} \,\big], \qquad F = 2\, d_\mathrm{model}\, d_{ff} + d_{ff} + d_\mathrm{model}$$

# %%
def count_parameters(V, d_model, d_ff, N):
    F = 2 * d_model * d_ff + d_ff + d_model
    encoder_layer = 4 * d_model**2 + F + 4 * d_model
    decoder_layer = 8 * d_model**2 + F + 6 * d_model
    return V * d_model + N * (encoder_layer + decoder_layer)

counted = sum(p.value.size for p in model.parameters())
print("this model: by the formula", count_parameters(11, 16, 32, 2), "  counted", counted)

# %% [markdown] en="6679685e"
# 公式中没有头数（第 6 课），也没有序列长度：Transformer 不会因为读得更多而变大。
#
# > **预测：** 论文的 base 模型：$|V| = 37\,000$，$d_\mathrm{model} = 512$，$d_{ff} = 2048$，$N = 6$。大约有多少参数（以百万为单位）？$E$ 占多大比例？

# %%
base = count_parameters(37_000, 512, 2048, 6)
E_size = 37_000 * 512
print(f"base model: {base:,}   E: {E_size:,}, that is {E_size / base:.0%};"
      f" with three of them {base + 2 * E_size:,}")

# %% [markdown] en="9957f1d4"
# base 模型有 6300 万个参数，其中 30 % 在一个矩阵里。论文印的是 65 million（6500 万），词表大小写的是“about 37000”（约 37000）。所以，应当比较各模型与 base 模型的*差*，它受词表的影响较小。下面是表 3 的四行，以及论文印出的数，单位是百万：

# %%
rows = {"N = 8": (80, 512, 2048, 8), "N = 4": (50, 512, 2048, 4),
        "d_model = 1024": (168, 1024, 2048, 6), "big": (213, 1024, 4096, 6)}
for name, (printed, *size) in rows.items():
    ours = (count_parameters(37_000, *size) - base) / 1e6
    print(f"{name:15} printed {printed - 65:+4}   counted {ours:+6.1f}")

# %% [markdown] en="a8df5edd"
# $N$ 不同的两行相符：印出的数经过四舍五入，所以两个数的差可能有 1 的误差。$d_\mathrm{model} = 1024$ 的两行不相符，而且无论词表取多大，都不能使两行同时相符：一个印得偏大，另一个印得偏小。所以，图 1 解释不了论文给这两行印出的数。实验 `parameter_counts` 计算表中的每一行。
#
# ## 9.10 选读：训练时必须记住什么
#
# 使用中的模型只需要参数。训练中的模型还需要缓存，直到反向传播用完为止。

# %%
def size_of(cache, name=""):                                              # bytes of the arrays of that name
    arrays = {id(a): a.nbytes for path, a in leaves(cache, np.ndarray) if path.endswith(name)}
    return sum(arrays.values())

parameters = sum(p.value.nbytes for p in model.parameters())
print(f"parameters {parameters:,} bytes   cache {size_of(cache):,} bytes   of it maps {size_of(cache, 'weights'):,}")

# %% [markdown] en="34bca2ec"
# > **预测：** 序列长度加倍。如果序列短，缓存增大到几倍？如果序列长呢？

# %%
lengths = np.array([8, 16, 32, 64, 128, 256, 512])
total, of_maps = [], []
for T in lengths:
    ids = rng.integers(3, V, (1, T))                                   # (B, T)  one sequence
    _, long_cache = model.forward(ids, ids)
    total.append(size_of(long_cache))
    of_maps.append(size_of(long_cache, "weights"))
for i, T in enumerate(lengths):
    factor = f"{total[i] / total[i - 1]:.1f} times the one before" if i else ""
    print(f"T = {T:3}   maps are {of_maps[i] / total[i]:4.0%} of the cache   {factor}")

# %% [markdown] en="ddc846df"
# 缓存起初大约增大到 2 倍，后来趋向 4 倍。其他数组都是每个词元占一行，注意力图却是每个词元占一行*和一列*：每个头有 $T^2$ 个格子，共有六个注意力。图中是字节数随长度的变化，两个轴都是对数轴；点线是参数，它不增长。

# %%
fig = new_figure(6.5, 4)
ax = fig.subplots()
for i, (label, size) in enumerate({"whole cache": total, "attention maps": of_maps}.items()):
    ax.loglog(lengths, size, MARKERS[i] + "-", color=COLORS[i], label=label)
ax.axhline(parameters, color=COLORS[6], linestyle=":", label="parameters")
ax.set(xlabel="length T of source and target", ylabel="bytes kept", title="What training remembers")
ax.set_xticks(lengths, lengths)
ax.minorticks_off()
ax.legend()
fig

# %% [markdown] en="60e3c365"
# 这还只是一个序列；大小为 $B$ 的批量要保存 $B$ 倍的东西，但参数仍然只有一套。第 13 课会问，对此能做些什么。
#
# ## 9.11 检验本课的结论

# %%
assert np.abs(by_hand - logits).max() < 1e-12                          # nine calls are the model
assert len(maps) == 6
assert abs(-(q * np.log(p)).sum() - one) < 1e-12                       # the loss by hand
assert abs(even - np.log(V)) < 1e-12
assert np.abs(grad_logits[0, 0] - (p - q) / count).max() < 1e-12       # p - q
assert not grad_memory[src == task.pad].any()                          # padding teaches nothing
assert max(differences) < 1e-12                                        # backward, part by part
assert np.abs(sum(uses.values()) - E_grad).max() < 1e-12               # three uses add
assert np.abs(np.array(norms) / np.sqrt(memory.size) - 1).max() < 1e-3
assert report
assert sum(not row.ok for row in wrong.rows) == 2
assert count_parameters(11, 16, 32, 2) == counted
assert base == 63_045_632
assert total[1] / total[0] < 2.3 < 3.4 < total[-1] / total[-2]         # towards T²
print("all true")

# %% [markdown] en="1fb552f6"
# ## 小结
#
# - 源序列的编号 → 嵌入 + 位置 → 编码器的各层 → 记忆。目前为止的目标序列 → 嵌入 + 位置 → 解码器的各层，每层都读记忆 → logits。
# - 目标序列移一位再输入，这样每个位置要说的，都是它还没有看到的词元。
# - 损失对 logits 的梯度是 $(p - q)$ 除以有效目标的个数。从那里开始，反向传播就是把前向传播的部件按相反的次序走一遍。
# - 编码器只通过记忆来学习；$E$ 从三个方面学习，三个梯度相加。
# - `check_gradients` 证明整个模型；漏掉一行，损失照样下降。
# - 参数与长度无关。（训练时要记住的东西与长度有关：先随 $T$ 增长，再随 $T^2$ 增长。）
#
# ## 问题
#
# **1.** 有人忘了移位，把 `tgt_out` 作为输入交给解码器。训练损失会怎样？解码又会怎样？
#
# <details><summary>答案</summary>
#
# 因果掩蔽允许每个位置看见自己，所以答案就在输入里。损失很快降到最小值：模型只是把输入原样传过去。解码时没有答案可传，它写出来的就是胡话。这就是第 5 课的泄漏，只是换了一种方式。
#
# </details>
#
# **2.** 解码器的各层读的是编码器顶端的输出。如果解码器的一层误读了编码器的第 1 层，另一层读的是顶端，那么编码器的第二层得到什么梯度？
#
# <details><summary>答案</summary>
#
# 顶端只从一个解码器层得到梯度，所以 `grad_memory` 由两项变为一项，另一项在第 1 层的输出处汇入。如果反向传播与之相符，它就是另一个模型，而且梯度是对的：梯度检验无从知道你想要的是哪个模型。只有对前向传播做比较，才能发现。
#
# </details>
#
# **3.** 在第 9.6 节，$E$ 中 `<pad>` 的那一行得到了梯度。它从哪里来？这是错误吗？
#
# <details><summary>答案</summary>
#
# 只来自输出。`<pad>` 是 11 个类别之一，只要它的 $p$ 大于它的 $q$，梯度就会降低它的 logit。这不是错误：模型不应在句子中间写出 `<pad>`。作为输入，没有人读它。
#
# </details>
