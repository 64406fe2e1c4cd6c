# %% [markdown] en="5640458e"
# # 第 10 课 · 训练：从随机数到完美的复制
#
# | | |
# |---|---|
# | **你将做什么** | 用纸笔平滑一个损失；手算 Adam 的三步；用十行代码写出训练循环；把一个 Transformer 训练到会复制；然后让它一次一个词元地写，看看它有多大把握 |
# | **你将学到** | 标签平滑禁止什么；为什么 Adam 的第一步总是一样大，预热对此有什么用；为什么 10 个词元对了 9 个，不等于 10 个序列对了 9 个；选读：论文为什么对检查点求平均，怎样让同一次训练重现 |
# | **需要** | 第 2 课（softmax）、第 5 课（因果掩蔽）；学过第 9 课更好 |
# | **论文** | 第 5 节、公式 3、第 6.1 节、表 3 (D) |
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
import inspect
import tempfile
from collections import deque

import numpy as np

from aiayn_np import (
    Adam,
    CopyTask,
    LabelSmoothedCrossEntropy,
    Parameter,
    Softmax,
    Transformer,
    exact_match,
    greedy_decode,
    load_checkpoint,
    not_padding,
    plot_loss,
    save_checkpoint,
    train,
    warmup_rate,
)
from aiayn_np.experiments import EXPERIMENTS
from aiayn_np.experiments.claims.warm_up import blind_loss
from aiayn_np.plotting.drawings import figure_1, two_workers
from aiayn_np.plotting.figures import COLORS, new_figure
from aiayn_np.training.loop import averaged, token_scores

np.set_printoptions(precision=4, suppress=True)

# %% [markdown] en="d348bb70"
# 在图 1 中，损失接在顶端的 softmax 之后。梯度从那里出发，往回经过所有的方框。

# %%
figure_1("softmax")

# %% [markdown] en="9dec53ae"
# ## 10.1 任务
#
# 任务是读几个数字，再写出同样的数字。听起来太容易了。但 Transformer 对次序和数字一无所知。要复制，它就必须学会：每个符号是什么样子，在什么位置，答案已经写到哪里，以及什么时候停下。而且每个正确答案我们都知道，所以能够准确地数出错误。

# %%
task = CopyTask(symbols=10, max_length=8)
src, tgt_in, tgt_out = task.batch(3, np.random.default_rng(0))
print("src", src.shape, " tgt_in", tgt_in.shape, " tgt_out", tgt_out.shape, " V =", task.vocab_size)
for name, ids in (("src", src), ("tgt_in", tgt_in), ("tgt_out", tgt_out)):
    for row in ids:
        print(f"{name:8}", *(f"{token:5}" for token in task.tokens(row)))

# %% [markdown] en="e96a747a"
# 一共有三个由编号组成的数组。编码器读 `src`。解码器读 `tgt_in`，也就是右移之后的答案，并且在每个位置上，必须预测 `tgt_out` 同一位置上的词元（强制教学，第 5.6 节）。十个数字加三个特殊词元，共有 13 个类别，$|V| = 13$。短的行用填充补齐。
#
# 序列大约有一亿个，所以每个批量都重新抽取。但 3 位的序列只有 1000 个，而批量中不能出现我们以后用来测试的序列。所以，由符号算出的一个数，即**哈希值**，把每个序列归入训练、验证、测试之一，而且只归入一份。
#
# > **预测：** 抽取 20 000 个训练样本。其中有多少个*不同*的序列：20 000 个全部不同，几乎全部，还是一半？500 个验证序列中，又有多少个在里面？

# %%
drawn = task.batch(20_000, np.random.default_rng(0))[0]
seen = {task.text(row) for row in drawn}
validation = task.validation(500)
common = seen & {task.text(row) for row in validation[0]}
print(f"{sum(10**n for n in range(1, 9)):,} sequences exist; {len(seen):,} different ones drawn")
print("of them in validation:", len(common))

# %% [markdown] en="a07cdc15"
# 短的序列会一再出现。验证序列一个也不在其中，不管我们抽取多少。所以，模型如果在验证序列上答对了，靠的不是背诵，而是真的在复制。（1 位或 2 位的序列太少，所以全都归入训练；验证中没有这样的序列。）
#
# ## 10.2 三个类别上的损失
#
# 在一个位置上，模型给 $|V|$ 个类别概率 $p = \mathrm{softmax}(z)$。损失是它与我们想要的 $q$ 之间的**交叉熵** $-\sum_v q_v \log p_v$。（用自然对数时，它的单位叫**奈特**（nat）。）（这里的 $q$ 是一个分布，不是查询。）没有平滑时，$q$ 在目标处是 1，别处是 0。论文（第 5.4 节）对它做**平滑**（Szegedy 等，2016）：从目标处拿走 $\epsilon_{ls}$ 这么多，分给所有的类别。
#
# $$q_v = (1 - \epsilon_{ls})\, \mathbb{1}[v = \mathrm{target}] + \epsilon_{ls} / |V|$$
#
# 请用纸笔算一算：$|V| = 3$，目标是类别 0，$p = (\tfrac12, \tfrac14, \tfrac14)$，$\epsilon_{ls} = 0.3$。
#
# > **预测：** $q$ 是什么？损失是 $\ln 2$ 的多少倍？

# %%
z = np.array([np.log(2), 0.0, 0.0])         # (V,)  logits
p = Softmax()(z)                            # (V,)
q = np.full(3, 0.3 / 3)                     # (V,)
q[0] += 1 - 0.3
print("p", p, " q", q)
loss_by_hand = -(q * np.log(p)).sum()
print("loss", loss_by_hand, "=", loss_by_hand / np.log(2), "ln 2;  not smoothed:", -np.log(p[0]) / np.log(2), "ln 2")

# %% [markdown] en="872c4bb1"
# $q = (0.8, 0.1, 0.1)$，损失是 $0.8 \ln 2 + 0.2 \ln 4 = 1.2 \ln 2$。类是这样计算的：

# %%
print(inspect.getsource(LabelSmoothedCrossEntropy.forward))

# %% [markdown] en="b780d5ce"
# 检查之后的前两行就是 $\log p$。然后，`losses` 取 $-\log p_\mathrm{target}$ 的 $1 - \epsilon_{ls}$ 倍，再加上 $-\log p$ 对所有类别的平均值的 $\epsilon_{ls}$ 倍。最后几行去掉填充，求平均。

# %%
criterion = LabelSmoothedCrossEntropy(eps_ls=0.3, pad=-1)              # no class here is padding
loss, cache = criterion.forward(z[None], targets=np.array([0]))        # (1, V), (1,)
print("the class, difference:", abs(loss - loss_by_hand))
print("backward:", criterion.backward(1.0, cache)[0], "  p - q:", p - q)

# %% [markdown] en="1c59ceba"
# 对 logits 的梯度是 $p - q$（推导见第 9.5 节）。当 $p = q$ 时，它为零。所以最好的模型不再有 $p_\mathrm{target} = 1$。取我们的 13 个类别和论文的 $\epsilon_{ls} = 0.1$，让所有错误的类别平分余下的概率，再让模型越来越确定：

# %%
V, eps_ls = 13, 0.1
smoothed = LabelSmoothedCrossEntropy(eps_ls, pad=-1)
for p_target in (0.5, 0.8, 1 - eps_ls + eps_ls / V, 0.99, 0.9999):
    p = np.full(V, (1 - p_target) / (V - 1))
    p[0] = p_target
    loss, cache = smoothed.forward(np.log(p)[None], targets=np.array([0]))
    gradient = smoothed.backward(1.0, cache)[0, 0]
    print(f"p_target {p_target:.4f}  loss {loss:.3f}  gradient {gradient:+.3f}  perplexity {1 / p_target:.3f}")

# %% [markdown] en="30cd80b8"
# 损失最小的地方是 $p_\mathrm{target} = 1 - \epsilon_{ls} + \epsilon_{ls}/|V|$，大约 0.9077。超过这一点，梯度就变号，*往回*推：模型太有把握了。平滑要付出的代价是**困惑度**。困惑度就是 $e$ 的若干次幂，指数是 $-\ln p_\mathrm{target}$ 的平均值。把这个损失降到最小的模型，困惑度是 1.102；即使任务可以完美地学会，困惑度本来可以是 1，也是这样。论文第 5.4 节说，平滑会损害困惑度，但能提高准确率。实验 `label_smoothing` 同时测量这两者，所用的任务（反转）中有 30 % 的符号是随机的，谁也不可能确切知道：

# %%
def committed(name, **small):
    """What the whole experiment found, or a small one, in seconds."""
    if Path(f"../figures/{name}.json").exists():
        return EXPERIMENTS[name].load("../figures")
    return EXPERIMENTS[name].run(**small)


smoothing = committed("label_smoothing", steps=100, max_length=3, seeds=(0,))
print("ε_ls   perplexity   change of tokens right, in percentage points (all seeds)")
for eps, perplexity, change in zip(smoothing.eps_ls, smoothing.perplexity, 100 * smoothing.change[1]):
    print(f"{eps:<4g} {np.median(perplexity):12.2f}   {np.median(change):+.1f} ({change.min():+.1f} to {change.max():+.1f})")

# %% [markdown] en="5093b22f"
# 所以在这里，情况与论文所说的一样：困惑度变差了，准确率的提高不到半个百分点。
#
# 论文第 5.4 节的另一种**正则化**，即防止死记硬背的手段，是暂退法。实验 `dropout` 只给模型 200 个序列来学习。左图是它在训练时没有用过的（held-out）序列上的损失，以及在自己的训练序列上的损失（虚线）。
#
# > **预测：** 不用暂退法时，没见过的序列上的损失先下降。然后呢？

# %%
dropping = committed("dropout", sequences=100, steps=150, seeds=(0,), P_drop=(0.0, 0.1))
dropping.figure()

# %% [markdown] en="2b1d72e8"
# 不用暂退法时，没见过的序列上的损失会掉头上升：模型把自己的序列背了下来，对一些答案越来越有把握，而这些答案换个地方就是错的。用了暂退法，损失继续下降。右图是没见过的序列中正确词元的比例：不用暂退法时约为 60 %，暂退率为 0.1 时约为 70 %。我们的任务永远不缺新的序列，所以从这里起，训练都不用暂退法。
#
# ## 10.3 手算 Adam 的三步
#
# Adam（Kingma 和 Ba，2015）为每个参数保存两个滑动平均：梯度的滑动平均 $m$，和梯度平方的滑动平均 $v$（论文第 5.3 节，$\beta_1 = 0.9$，$\beta_2 = 0.98$；这里的 $v$ 既不是值，也不是词元）。两者都从 0 开始，所以起初都太小；除以 $1 - \beta^t$ 就纠正过来了。从 $\theta$ 走出的一步，用一个除以另一个的平方根：
#
# $$\hat m = \frac{m}{1 - \beta_1^t}, \qquad \hat v = \frac{v}{1 - \beta_2^t}, \qquad \theta \leftarrow \theta - \mathrm{rate} \cdot \frac{\hat m}{\sqrt{\hat v} + \mathrm{eps}}$$
#
# > **预测：** 第一个梯度是 4，学习率是 0.1。第一步走多远？如果梯度是 4000 呢？

# %%
beta_1, beta_2, eps, rate = 0.9, 0.98, 1e-9, 0.1
value, m, v = 1.0, 0.0, 0.0                 # one parameter
gradients = [4.0, 4.0, -2.0]
for t, grad in enumerate(gradients, start=1):
    m = beta_1 * m + (1 - beta_1) * grad
    v = beta_2 * v + (1 - beta_2) * grad**2
    m_hat, v_hat = m / (1 - beta_1**t), v / (1 - beta_2**t)            # bias correction
    step = rate * m_hat / (np.sqrt(v_hat) + eps)
    value -= step
    print(f"t={t}  m {m:.3f}  v {v:.4f}  m_hat {m_hat:.3f}  v_hat {v_hat:.3f}  step {step:+.4f}  value {value:.4f}")

# %% [markdown] en="45ac02d5"
# 第一步等于学习率（不计 `eps`），而且只要梯度不是 0，都会这样：$\hat m = g$，$\hat v = g^2$，所以 $\hat m / \sqrt{\hat v} = \pm 1$。如果各步的梯度不一致，像第三步那样，步子就会变短。类中的这一步是：

# %%
print(inspect.getsource(Adam.step).split("store = self.store\n")[1])   # its loop

# %% [markdown] en="126a6892"
# 这个循环就是我们写的那几行，只是同时作用于所有的参数。（`unbias_m` 是 $1/(1 - \beta_1^t)$；`blocks` 从内存中一次取出相邻的一些参数，这样更快。）类的结果与我们的数一致。如果所有的梯度都放大一千倍，除去 `eps` 的影响，它走的步子也一样：

# %%
def adam_on(gradients):
    p = Parameter(np.array([1.0]))
    optimizer = Adam([p])
    for grad in gradients:
        p.grad[:] = grad                    # what a backward would have added
        optimizer.step(rate)
    return p.value[0]


print("the class, difference :", abs(adam_on(gradients) - value))
print("gradients × 1000      :", abs(adam_on([1000 * g for g in gradients]) - value))

# %% [markdown] en="9e98b5e0"
# 所以，步子的大小由学习率决定，而不由梯度的大小决定。现在想一想模型的第 1 步：**每一个**参数都移动整整一个学习率，而方向只由一个批量决定。
#
# ## 10.4 预热
#
# 所以训练从很小的学习率开始。在公式 3 中，学习率先在 `warmup_steps` 步内线性上升，然后下降：
#
# $$\mathrm{rate} = d_\mathrm{model}^{-0.5} \cdot \min\left(\mathrm{step}^{-0.5},\ \mathrm{step} \cdot \mathrm{warmup\_steps}^{-1.5}\right)$$
#
# > **预测：** 对论文的 base 模型，$d_\mathrm{model} = 512$，预热 4000 步，最高点在第 4000 步。在哪*两*步，学习率是最高点的一半？

# %%
peak = warmup_rate(4000, 512, 4000)
by_hand = 512**-0.5 * min(1000**-0.5, 1000 * 4000**-1.5)
print("step 1000 by hand", by_hand, " warmup_rate", warmup_rate(1000, 512, 4000))
print(f"peak {peak:.6f} = 1 / sqrt(512 · 4000)")
for step in (1, 1000, 2000, 4000, 8000, 16_000, 100_000):
    print(f"step {step:7,}  rate / peak {warmup_rate(step, 512, 4000) / peak:.4f}")

# %% [markdown] en="4ffe92f5"
# 在第 2000 步，学习率是最高点的一半，那时还在上升的直线上；在第 16 000 步也是，那里的步数是最高点的四倍：$1/\sqrt4$。图中是论文的学习率安排，以及我们对 $d_\mathrm{model} = 32$ 的安排。我们预热 100 步，并把公式 3 乘 0.2，否则对这么小的模型来说学习率太高。

# %%
fig = new_figure(9, 3)
left, right = fig.subplots(1, 2)
steps = np.arange(1, 20_001)
left.plot(steps, [warmup_rate(int(s), 512, 4000) for s in steps], color=COLORS[0])
right.plot(steps[:400], [0.2 * warmup_rate(int(s), 32, 100) for s in steps[:400]], color=COLORS[1])
left.set(xlabel="step", ylabel="rate", title="the paper: d_model = 512, 4000 steps")
right.set(xlabel="step", title="here: d_model = 32, 100 steps, × 0.2")
fig

# %% [markdown] en="f072c65f"
# 预热有什么用？实验 `warm_up` 训练 $N = 4$ 的模型来复制，每个训练 120 步，最高学习率各不相同：一次用预热，一次从第一步起就用那个学习率。
#
# > **预测：** 预热在哪些学习率下有帮助：低的，高的，还是在哪个学习率下都没有帮助？

# %%
committed("warm_up", peak=(0.001, 0.01), seeds=(0,)).figure()

# %% [markdown] en="d1d9cc02"
# 蓝色和橙色（后置规范化，post-norm）是论文那样的模型，每个 Add 之后有规范化。左图是它们在 120 步之后的情况。学习率最低时，预热只是白费步数：没有预热，损失反而略低。学习率为 0.01 时，没有预热，模型学不会读源序列；有预热，就能学会；右图是这两次训练。学习率最高时，两者都失败。蓝线的最低损失与橙线的最低损失一样。所以在这里，预热换来的是更高的学习率，而不是更好的最终结果。深的模型则另当别论：对它们来说，预热可以决定究竟能不能学会（Xiong 等，2020；Liu 等，2020）。绿色和粉色是每个子层之前有规范化的模型（第 7.7 节）。它们在每个学习率下都能学会。
#
# ## 10.5 十行代码的循环
#
# 现在所有的部件都齐了。为了快，模型用 float32。

# %%
def new_model(seed=0, P_drop=0.0):
    rng = np.random.default_rng(seed)
    size = dict(N=2, d_model=32, d_ff=64, h=4, P_drop=P_drop, max_len=64)
    return Transformer(task.vocab_size, **size, rng=rng).astype(np.float32)


model = new_model()
print(f"{sum(p.value.size for p in model.parameters()):,} parameters")
criterion, losses = LabelSmoothedCrossEntropy(eps_ls=0.1, pad=task.pad), []

# %% [markdown] en="cf211b5b"
# > **预测：** 什么都不知道的人，给 13 个类别同样的概率，损失是 $\ln 13$。我们的模型未经训练，它的第一个损失比这低、相同，还是更高？

# %%
rng, optimizer = np.random.default_rng(1), Adam(model.parameters())
for step in range(1, 31):
    src, tgt_in, tgt_out = task.batch(64, rng)                         # (B, T) each, fresh
    model.zero_grad()                                                  # backward adds
    logits, cache = model.forward(src, tgt_in)                         # (B, T, V)
    loss, loss_cache = criterion.forward(logits, targets=tgt_out)      # a number
    grad_logits = criterion.backward(1.0, loss_cache)                  # (B, T, V)
    model.backward(grad_logits, cache)                                 # fills every grad
    optimizer.step(0.2 * warmup_rate(step, model.d_model, 100))        # Equation 3
    losses.append(token_scores(loss_cache)[0])                         # without smoothing

# %%
print(f"ln 13 = {np.log(13):.2f}")
for step in (1, 10, 20, 30):
    print(f"step {step:2}  loss {losses[step - 1]:.2f}")

# %% [markdown] en="22841fc2"
# 第一个损失高于 $\ln 13$。未经训练的模型并不是拿不定主意：它的 logits 是随机数，所以它偏爱某些类别，而且大多是错的。在最初几步，它只是学会不再有所偏爱。
#
# 本库的 `train` 就是这个循环，再加一点东西。它是一个*生成器*：走一步，交给你一条记录，然后等待。给它同样的模型和同样的批量。损失相同吗？

# %%
again = new_model()
records = list(train(again, task, steps=30, rng=np.random.default_rng(1), validation_size=10))
print("a record has:", *vars(records[-1]))
print("the same 30 losses, to the last bit:", losses == [r.loss for r in records])

# %% [markdown] en="116d3642"
# ## 10.6 开始训练
#
# 训练 400 步，每十步保存一次状态，留待后用。（`train` 默认每 25 步验证一次，全部正确就停下。这里要让它一直走下去，所以只验证一次。）

# %%
model, history, states = new_model(), [], {}
for progress in train(model, task, steps=400, rng=np.random.default_rng(1), validate_every=400,
                      validation_size=500):
    history.append(progress)
    if progress.step % 10 == 0:
        states[progress.step] = model.state_dict()

# %% [markdown] en="a5fcb9c0"
# 有两个数可以帮助我们读懂损失。一个是*不*读源序列时最好的猜测的损失：这种猜测知道有哪些符号，也知道序列会有多长。另一个是标签平滑所允许的最好情况下的 $-\ln p_\mathrm{target}$。

# %%
blind = blind_loss(task)
floor = -np.log(1 - eps_ls + eps_ls / V)
reads = next(record.step for record in history if record.loss < blind)
print(f"not reading the source: {blind:.2f}, beaten first at step {reads}")
print(f"smoothing's best: {floor:.3f};  mean of the last 20 steps: {np.mean([r.loss for r in history[-20:]]):.2f}")

# %% [markdown] en="c662c875"
# 上图是损失，用对数坐标轴；下图是正确词元的比例。圆点是整个验证序列全部正确的比例。

# %%
fig = plot_loss(history, title="A Transformer learns to copy")
top = fig.axes[0]
top.set(yscale="log", ylim=(0.06, 4))
for number, step, name in ((blind, 250, "not reading the source"), (floor, 0, "smoothing's best")):
    top.axhline(number, color="0.4", linestyle=":", linewidth=1)
    top.annotate(name, (step, number), xytext=(0, 4), textcoords="offset points", size="small")
fig

# %% [markdown] en="ab8e7f4d"
# 模型大约用前十分之一的训练步学会有哪些符号。从那以后，它必定在读源序列。最后，损失停在标签平滑所限定的地方附近。在这次训练中，第 350 步附近出现一阵错误，那时模型早就会复制了。这种错误一阵一阵，时来时去。这也是对最后几个状态求平均的一个理由（第 10.8 节）。
#
# ## 10.7 词元对了，不等于序列对了
#
# 上面数词元时用的是强制教学：不管模型之前说了什么，它读到的都是真实的前缀。使用时，它读到的是自己写的东西。取训练中途的模型。

# %%
def at(step):
    """The model as it was after some step."""
    then = copy.deepcopy(model)
    then.load_state_dict(states[step])
    return then


def right_tokens(model, examples):
    src, tgt_in, tgt_out = examples
    best = model(src, tgt_in).argmax(axis=-1)                          # (B, T)
    return (best == tgt_out) | (tgt_out == task.pad), tgt_out != task.pad


early = next(step for step in states if history[step - 1].accuracy > 0.85)
right, real = right_tokens(at(early), validation)
length = real.sum(axis=1).mean()
print(f"step {early}: {right[real].mean():.2f} of tokens right, {length:.1f} tokens in a sequence")

# %% [markdown] en="258a45e6"
# > **预测：** 解码没有错误的序列占多大比例：差不多同样多，大约一半，还是几乎没有？

# %%
half_way = at(early)
exact = exact_match(half_way, validation, bos=task.bos, eos=task.eos)
print(f"decoded exactly: {exact:.2f}")
print(f"if mistakes were independent: {right[real].mean() ** length:.2f}")

# %% [markdown] en="cf60572c"
# 正确序列的比例远低于正确词元的比例，在这次训练中约为一半：错一个词元，整个序列就毁了，而每个词元都可能出错。一个错误还会引起别的错误吗？逐个词元比较：在真实的前缀之后，模型说什么；在它自己的前缀之后，模型又说什么。

# %%
src, tgt_in, tgt_out = validation
own = greedy_decode(half_way, src, bos=task.bos, eos=task.eos, max_len=tgt_out.shape[1])
own = np.pad(own, ((0, 0), (0, tgt_out.shape[1] - own.shape[1])))      # pad is 0
print(f"tokens right: after the true prefix {right[real].mean():.2f},"
      f" after its own {(own == tgt_out)[real].mean():.2f}")
print(f"sequences right: teacher-forced {right.all(axis=1).mean():.3f}, decoded {exact:.3f}")

# %% [markdown] en="9da00a4d"
# 在自己的前缀之后，正确的词元较少，因为错误的前缀会误导模型。但最后一行的两个数相等，而且必定相等：只要一切都对，模型自己的前缀*就是*真实的前缀。一个序列完全解码正确，当且仅当在每个真实前缀之后，最好的词元都是对的。所以，不必解码，只用一次并行的前向传播，就能数出完全正确的序列（第 5.7 节说明，这样一次算完和一步一步地算是同一个函数）；`train` 就是这样验证的。
#
# ## 10.8 选读：最后几个状态的平均
#
# 论文的 base 模型用的不是最后一个检查点，而是最后五个的平均，每隔十分钟保存一个（论文第 6.1 节）：对每个*参数*求平均。这看上去很荒唐，因为模型不是线性的。那就来测量：每 10 步，比较单个状态与最后五个的平均。
#
# > **预测：** 在训练中途，哪个更好，最后的状态还是平均？到训练结束时呢？

# %%
def exact_share(model):
    return right_tokens(model, [ids[:200] for ids in validation])[0].all(axis=1).mean()


recent, single, mean_of_5 = deque(maxlen=5), [], []
for step, state in states.items():
    recent.append(state)
    single.append(exact_share(at(step)))
    mean_of_5.append(exact_share(averaged(model, recent)))

# %%
fig = new_figure(7, 3.6)
ax = fig.subplots()
ax.plot(list(states), single, color=COLORS[1], linestyle="--", marker="s", markersize=4, label="the last state")
ax.plot(list(states), mean_of_5, color=COLORS[0], marker="o", markersize=4, label="average of the last 5")
ax.set(xlabel="step", ylabel="sequences right", title="Averages are late, then steady (one run)")
ax.legend()
fig

# %%
late = [i for i, step in enumerate(states) if step > 250]
for name, curve in (("single ", single), ("average", mean_of_5)):
    shares = [curve[i] for i in late]
    print(f"{name}  after step 250: worst {min(shares):.2f}, mean {np.mean(shares):.3f}")

# %% [markdown] en="c2032b4a"
# 在训练中途，最后的状态更好：平均中还含有 40 步之前的模型，它较差。在这次训练结束时，平均更好，因为它掩盖了一阵错误。原因可能是：不管梯度多小，Adam 的步子都与学习率一样大，所以单个状态在一个好地方的周围跳来跳去，偶尔还会跳出去。它们的平均位于中间。一次训练不是规律，而且求平均要求各个状态彼此接近。

# %%
final = averaged(model, recent)
test = task.test(500)
print(f"average of the last 5, test sequences exact: {exact_match(final, test, bos=task.bos, eos=task.eos):.2f}")

# %% [markdown] en="44a23544"
# ## 10.9 让它来写
#
# 现在一步一步地解码。先对源序列编码，只需一次。然后问下一个词元是什么，把最好的接上去，再问。每一步都打印概率最大的三个词元。
#
# > **预测：** 训练好的模型几乎总是对的。它给最好的词元多少概率：大于 0.99，还是小于？（第 10.2 节。）

# %%
src = task.source("3 1 4 1 5")                                         # (1, T_src)
memory, _ = model.encode(src)                                          # (1, T_src, d_model)
tgt, softmax, certainty = [task.bos], Softmax(), []
while tgt[-1] != task.eos and len(tgt) < 10:
    logits, _ = model.decode(np.array([tgt]), memory, memory_allowed=not_padding(src))
    p = softmax(logits[0, -1])                                         # (V,)  the last position only
    top = np.argsort(-p)[:3]
    read = " ".join(task.tokens(tgt))
    print(f"{read:16}", *(f" {name:>5} {share:.2f}" for name, share in zip(task.tokens(top), p[top])))
    tgt.append(int(top[0]))
    certainty.append(p[top[0]])

# %%
whole = greedy_decode(model, src, bos=task.bos, eos=task.eos)
print("greedy_decode:", task.tokens(whole[0]), " the same:", whole[0].tolist() == tgt[1:])

# %% [markdown] en="f7fc3def"
# 最好的词元得到的概率小于 0.99：大约 0.9，这正是标签平滑要求的。这不是犹豫：余下的概率薄薄地分给了所有其他的类别。
#
# 每次都取最好的词元，叫作**贪心**解码。论文保留 4 个最好的未完成序列（束搜索，论文第 6.1 节）。如果好的开头可能导致坏的结尾，这样做就有帮助；复制没有这样的选择。
#
# ## 10.10 选读：让训练重现
#
# 在这里，随机性由函数的参数传入：批量和暂退法的掩蔽都来自你传入的 `rng`，而且只有 `forward` 收到它，暂退法才起作用。所以即使用了暂退法，训练也可以一个比特都不差地重现：

# %%
def few_losses(seed):
    records = train(new_model(P_drop=0.1), task, steps=5, rng=np.random.default_rng(seed),
                    validation_size=10)
    return [r.loss for r in records]


print("same seed, same losses  :", few_losses(0) == few_losses(0))
print("other seed, same losses :", few_losses(0) == few_losses(1))

# %% [markdown] en="588e9731"
# > **预测：** 你在 5 步之后停下，保存，载入一个新模型，再走到第 10 步。如果要求结果与不停顿时一个比特都不差，只保存参数够吗？

# %%
def run_to(step, model, optimizer, rng, recent):
    options = dict(steps=step, rng=rng, optimizer=optimizer, recent=recent, validation_size=10)
    for _ in train(model, task, **options):
        pass
    return model


def parts(seed):
    model = new_model(seed, P_drop=0.1)
    return dict(model=model, optimizer=Adam(model.parameters()),
                rng=np.random.default_rng(seed), recent=deque(maxlen=5))

# %%
straight = run_to(10, **parts(0))                                      # without a stop

stopped = parts(0)
run_to(5, **stopped)
whole, bare = parts(7), parts(7)                                       # other numbers, to be replaced
with tempfile.TemporaryDirectory() as folder:
    save_checkpoint(f"{folder}/five.npz", **stopped)
    load_checkpoint(f"{folder}/five.npz", **whole)                     # everything
    load_checkpoint(f"{folder}/five.npz", bare["model"])               # the parameters only
bare["optimizer"].t = 5                                                # it knows the step

# %%
def equal(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values()))


resumed = equal(run_to(10, **whole), straight)
resumed_bare = equal(run_to(10, **bare), straight)
print("everything saved, bit-equal to the run without a stop:", resumed)
print("only the parameters saved                            :", resumed_bare)

# %% [markdown] en="c293131c"
# 只有参数是不够的。一次训练包括参数、Adam 的 $m$、$v$ 和 $t$、随机数生成器的状态，以及用来求平均的最后几个状态。
#
# 论文同时用八个处理器训练。每个处理器计算它那一部分批量的梯度，在走这一步之前，把这些梯度加起来。图中画了两个：

# %%
two_workers()

# %% [markdown] en="9f29672d"
# 所以，除去舍入误差，结果与一个处理器用整个批量得到的结果相同。
#
# ## 10.11 检验本课的结论

# %%
assert not common                                                      # splits never overlap
assert abs(loss_by_hand - 1.2 * np.log(2)) < 1e-12
assert abs(adam_on(gradients) - value) < 1e-12                         # Adam by hand
assert abs(adam_on([123.0]) - (1.0 - rate)) < 1e-9                     # the first step is the rate
assert np.isclose(warmup_rate(2000, 512, 4000), peak / 2)
assert np.isclose(warmup_rate(16_000, 512, 4000), peak / 2)
assert losses[0] > np.log(13) > losses[29]                             # wrong opinions at first
assert losses == [r.loss for r in records]                             # the loop is train
assert 10 < reads < 150                                                # then it reads the source
assert exact < right[real].mean() - 0.2                                # tokens are not sequences
assert abs(exact - right.all(axis=1).mean()) < 0.005                   # one pass counts them (but for rounding)
assert (own == tgt_out)[real].mean() < right[real].mean()              # mistakes cause mistakes
assert exact_match(final, test, bos=task.bos, eos=task.eos) > 0.95
assert min(mean_of_5[i] for i in late) >= min(single[i] for i in late)
assert 0.8 < np.mean(certainty) < 0.97                                 # what smoothing asks for
assert task.text(tgt[1:]) == "3 1 4 1 5"
assert resumed                                                         # with everything saved
assert not resumed_bare
print("all true")

# %% [markdown] en="1e57e54e"
# ## 小结
#
# - 标签平滑从想要的概率中拿出一部分，分给所有的类别。梯度是 $p - q$，如果把握超过 $1 - \epsilon_{ls} + \epsilon_{ls}/|V|$，就会受罚。
# - Adam 会除以梯度的大小，所以从第一步起，步子的大小就由学习率决定。预热使最初的步子很小，从而允许后来有更高的学习率。
# - 训练循环：批量、梯度清零（zero_grad）、前向传播、损失、反向传播、学习率、走一步。`train` 就是这样，外加每一步一条记录。
# - 整个序列全对，比单个词元正确少见得多。强制教学下*全对*的比例与解码*全对*的比例相等。
# - 最后几个状态的平均，起初落后。到最后，它可以掩盖一阵错误。
# - 只要传入并保存全部状态，训练就可以重现，也可以中断后继续，一个比特都不差。
#
# ## 问题
#
# **1.** 你忘了 `model.zero_grad()`。模型用什么来训练？
#
# <details><summary>答案</summary>
#
# 它用的是从一开始到现在所有梯度之和，因为反向传播是*累加*的。更新的方向是历来各步梯度的平均，而其中大多数已经过时。Adam 会除以梯度的大小，掩盖了梯度的增长；所以模型甚至可能学一阵子，但学得很差。（如果是有意这样做，就没有问题：几次反向传播之后再走一步，相当于一个更大的批量。）
#
# </details>
#
# **2.** 当 $\epsilon_{ls} = 0.1$ 时，完美复制的模型，训练损失仍然高于 0。记录却说它小得多。谁对？
#
# <details><summary>答案</summary>
#
# 都对。训练时降低的是平滑的损失，它的最小值是 $q$ 的熵，不是 0。`Progress.loss` 是*没有*平滑的交叉熵 $-\ln p_\mathrm{target}$，这样 `eps_ls` 不同的训练才可以比较。它也不会停在 0：当 $p = q$ 时，它等于 $-\ln(1 - \epsilon_{ls} + \epsilon_{ls}/V)$。
#
# </details>
#
# **3.** 为什么不按模型使用时的方式来训练，也就是用它自己写的前缀？
#
# <details><summary>答案</summary>
#
# 用自己的前缀，必须先写出词元 $t$，才能问词元 $t + 1$：有多少个词元，就要做多少次前向传播，而强制教学一次就训练所有的位置。而且在初期，它写的全是错的，学到的就是在胡话之后该说什么。强制教学的代价是，模型在训练中从来看不到自己的错误，也就学不会怎样纠正（第 10.7 节）。
#
# </details>
