# %% [markdown]
# # Find the bug
#
# | | |
# |---|---|
# | **You will do** | find what is wrong with twelve Transformers, and which one is healthy |
# | **You will learn** | how to look for a bug that lets a model train all the same |
# | **You need** | Lessons 1 to 10, or the exercises |
# | **Time** | 20 minutes for the example, then 5 to 15 for each model |
#
# Here are thirteen small Transformers with loss, optimizer and schedule. Twelve have one bug each,
# of the kind that people make; five of the bugs have been seen in public implementations. None
# raises an error while the model learns to copy. **One of the thirteen is healthy**, and to say
# which is as hard as the rest.
#
# Does it not show when they train? Each bug was planted in a model that learns to copy up to five
# symbols, and with **10 of the 12** the model still solves the task: at least 98.4 % of sequences
# that it has never seen come out right to the last symbol. The healthy model has between 99.4 and
# 100 %. The loss falls, the samples look good, and the program is wrong.

# %%
import numpy as np

from aiayn_course.exercises.mystery import (
    STATEMENTS,
    TASK,
    guess,
    hint,
    mystery,
    randomise,
    reveal,
)
from aiayn_np import (
    Parameter,
    assert_causal,
    assert_heads_equal_loop,
    assert_padding_invariant,
    attention_maps,
    check_gradients,
    plot_attention,
    trace,
)
from aiayn_np.training.loss import ModelLoss

# %% [markdown]
# ## What you get
#
# `mystery(n)` makes everything anew each time, so spoil it as you like. All thirteen have the same
# sizes and, from the same seed, the same parameters. A look into the source does not help: the
# layers look like those of the library, and `??` shows nothing, or the right code.

# %%
kit = mystery(0)
print(kit)
for name in ("model", "loss"):
    print(f"kit.{name:12}", type(getattr(kit, name)).__name__)
print("kit.Adam(kit.model).step(rate), kit.warmup_rate(step, d_model, warmup_steps)")
print("d_model", kit.model.d_model, " h", kit.model.h, " N", len(kit.model.encoder.layers))

# %% [markdown]
# When you know what is wrong, say so with a letter. Some of these statements are true of no model.

# %%
for letter, statement in STATEMENTS.items():
    print(letter, " ", statement)

# %% [markdown]
# ## Your tools
#
# | tool | what it finds |
# |---|---|
# | `check_gradients(layer, *inputs, **options)` | a backward that does not fit its own forward |
# | `assert_causal(model)` | logits that depend on later target tokens |
# | `assert_padding_invariant(model)` | padding, or a neighbour in the batch, that matters |
# | `assert_heads_equal_loop(mha)` | multi-head attention that is not Eq. 1, head by head |
# | `trace(model, src, tgt, targets)` | sizes and norms of all that happens, gradients too |
# | `attention_maps(cache)`, `plot_attention` | weights where none may be |
# | numbers by hand | any formula of which you know two numbers |
#
# No tool sees everything. A forward that is wrong together with its backward passes the proof of
# gradients; a property says nothing of the values.
#
# Numbers that one knows without a computer:
#
# - positions: the row of $pos = 0$ is 0, 1, 0, 1, …; that of $pos = 1$ begins with
#   $\sin 1, \cos 1, \sin 10000^{-2/d_{model}}, \cos 10000^{-2/d_{model}}$;
# - the first step of Adam moves *every* entry of *every* parameter by the rate, against the sign of
#   its gradient, however large the gradient is (but for `eps`, and unless it is 0);
# - the rate grows in a straight line, from step 1 on, up to $(d_{model}\, warmup\_steps)^{-1/2}$;
# - a row after layer norm, with $\gamma = 1$ and $\beta = 0$, has mean 0 and mean square 1;
# - dropout without an `rng` does nothing, forwards and backwards, whatever was called before; with
#   one, a kept entry is multiplied by $1/(1 - P_{drop})$, and so is its gradient; the others get 0;
# - logits that are all equal have the loss $\ln V$.
#
# Four rules make checks sharp. Each bug can hide from a check that breaks one of them:
#
# 1. **No special numbers.** $\gamma = 1$ and $\beta = 0$ are special: `randomise(layer)` first.
# 2. **All switches on.** Dropout runs only if the call gets an `rng`; masks need padding to matter.
# 3. **No two sizes equal**, but where equal sizes are the point; a batch of more than one.
# 4. **Twice.** A layer or an optimizer may remember something: call it twice, with other inputs.
#
# Comparing with the library's own model is not allowed. In life there is no right version.
#
# Some numbers to feed them with. The source has 4 positions, the target 5, padding is 0, and ids
# occur more than once:

# %%
rng = np.random.default_rng(0)
src = np.array([[3, 4, 5, 4], [6, 3, 2, 0]])                      # (B, T_src)
tgt = np.array([[1, 4, 8, 4, 6], [1, 3, 7, 0, 0]])                # (B, T_tgt)
targets = np.array([[4, 8, 4, 6, 2], [3, 7, 2, 0, 0]])            # (B, T_tgt)
x = rng.standard_normal((2, 5, 12))                               # (B, T_tgt, d_model)
memory = rng.standard_normal((2, 4, 12))                          # (B, T_src, d_model)
print("ids below", TASK.vocab_size, " end", TASK.eos, " begin", TASK.bos)


def dice():
    """A generator in its first state, for options such as rng=dice()."""
    return np.random.default_rng(1)


def wrong(report, limit=4):
    """The gradients that do not agree, without the others."""
    rows = [row for row in report.rows if not row.ok]
    print(f"{report.title}: {len(rows)} of {len(report.rows)} wrong")
    for row in rows[:limit]:
        print("   ", row.tensor, row.verdict)


# %% [markdown]
# ## The method, in three moves, on model 0
#
# **Move 1: the whole.** First what needs no thought: three properties, and the proof of all
# gradients of the model together with its loss, with dropout and padding. An error that is
# raised is a finding, too.
#
# > **Guess first.** A bug in one small layer: how many of the model's gradients will be wrong?

# %%
kit = mystery(0)
assert_causal(kit.model)
assert_padding_invariant(kit.model)
assert_heads_equal_loop(kit.model.encoder.layers[0].self_attention)
whole = ModelLoss(randomise(kit.model), kit.loss)
report = check_gradients(whole, src, tgt, targets=targets, rng=dice())
wrong(report, limit=2)

# %% [markdown]
# The properties hold, so the forward is probably right. Of the gradients nearly all are wrong: one
# bug spoils all that come after it. **Those that are right** say more. Gradients are computed
# from the end of the model to its start, so the bug lies where the right ones end:

# %%
for row in report.rows:
    if row.ok:
        print(row.tensor)

# %% [markdown]
# All that is right belongs to the last decoder layer: its `add_norm_3`, at the very end, and its
# feed-forward before that. What is earlier is wrong.
#
# **Move 2: halve it.** A layer is proven alone, with random inputs, without the rest of the model.
# Take that last decoder layer apart.
#
# > **Guess first.** Which of its parts fail?

# %%
layer = mystery(0).model.decoder.layers[1]
wrong(check_gradients(randomise(layer), x, memory, rng=dice()), limit=0)
wrong(check_gradients(layer.self_attention, x, x, x), limit=0)
wrong(check_gradients(layer.cross_attention, x, memory, memory), limit=0)
wrong(check_gradients(layer.feed_forward, x), limit=0)
wrong(check_gradients(layer.add_norm_3, x, x[::-1], rng=dice()))

# %% [markdown]
# One part. It consists of two more, a dropout and a layer norm:

# %%
wrong(check_gradients(layer.add_norm_3.dropout, x, rng=dice()))
wrong(check_gradients(layer.add_norm_3.layer_norm, x))

# %% [markdown]
# Both are right, so it is what `AddNorm` itself does that is wrong: the sum between them.
#
# **Move 3: say it in numbers.** "Is 0, must be …", said the worst entry. Is that so everywhere?

# %%
y, cache = layer.add_norm_3.forward(x, x[::-1])
grad_x, grad_sublayer_output = layer.add_norm_3.backward(rng.standard_normal(y.shape), cache)
print("largest entry of grad_x              ", np.abs(grad_x).max())
print("largest entry of grad_sublayer_output", np.abs(grad_sublayer_output).max())

# %% [markdown]
# The sum $x + \mathrm{Sublayer}(x)$ must hand its gradient to both of its terms, and $x$ gets none.
# Now, and not before, the statement. (The hint that the next cell prints is what you would have got on the way.)

# %%
print(hint(0))
print(guess(0, "I"))
print(guess(0, "G"))
print()
print(reveal(0))

# %% [markdown]
# With a wrong *forward* the moves are the same, but the proof of gradients is silent: the backward
# may well be that of the wrong forward. Then properties, maps and numbers by hand are all there is.
# Here is how one looks at a map; a weight above the diagonal would be a leak. And `trace` shows the
# norms from the start to the end, and how large the gradient is at each part:

# %%
_, cache = kit.model.forward(src, tgt)
weights = attention_maps(cache)["decoder.layers.0.self_attention.attention.weights"]
plot_attention(weights[0], tgt[0], tgt[0], title="Decoder of model 0, layer 0")

# %%
print(trace(kit.model, src, tgt, targets)["encoder"].table(depth=1))

# %% [markdown]
# The gradient falls to a fifth on its way through one encoder layer. That is what it looks like
# where the road around the sub-layers is closed.
#
# And one number by hand: the first step of the optimizer, for two parameters.

# %%
parameters = [Parameter(np.zeros(3)), Parameter(np.zeros(2))]
adam = kit.Adam(parameters)
parameters[0].grad[...], parameters[1].grad[...] = [5, -0.1, 2], [-3, 0.001]
adam.step(0.01)
print(parameters[0].value, parameters[1].value)

# %% [markdown]
# By the rate, 0.01, against the sign: as it must be.
#
# ## Thirteen models
#
# If you are stuck, `hint(n)` names a tool, `hint(n, 2)` the part to look at and `hint(n, 3)` what
# happens there. `reveal(n)` tells everything; read it after a right guess. A wrong guess says how
# near it is.
#
# ### Model 1 · 5 minutes

# %%
kit = mystery(1)


# guess(1, "?")

# %% [markdown]
# ### Model 2 · 5 minutes

# %%
kit = mystery(2)


# guess(2, "?")

# %% [markdown]
# ### Model 3 · 10 minutes

# %%
kit = mystery(3)


# guess(3, "?")

# %% [markdown]
# ### Model 4 · 10 minutes

# %%
kit = mystery(4)


# guess(4, "?")

# %% [markdown]
# ### Model 5 · 10 minutes

# %%
kit = mystery(5)


# guess(5, "?")

# %% [markdown]
# ### Model 6 · 15 minutes

# %%
kit = mystery(6)


# guess(6, "?")

# %% [markdown]
# ### Model 7 · 10 minutes

# %%
kit = mystery(7)


# guess(7, "?")

# %% [markdown]
# ### Model 8 · 10 minutes

# %%
kit = mystery(8)


# guess(8, "?")

# %% [markdown]
# ### Model 9 · 10 minutes

# %%
kit = mystery(9)


# guess(9, "?")

# %% [markdown]
# ### Model 10 · 15 minutes

# %%
kit = mystery(10)


# guess(10, "?")

# %% [markdown]
# ### Model 11 · 15 minutes

# %%
kit = mystery(11)


# guess(11, "?")

# %% [markdown]
# ### Model 12 · 10 minutes

# %%
kit = mystery(12)


# guess(12, "?")

# %% [markdown]
# ### Model 13 · 15 minutes

# %%
kit = mystery(13)


# guess(13, "?")

# %% [markdown]
# ## For the keen
#
# Write one function that tries all tools on `mystery(n)` and prints one line; run it for all
# thirteen. Which tool found a bug that no other one saw? Then break one of the four rules: which
# bugs get away?
#
# ## What to take home
#
# - That a model learns is no evidence. 10 of these 12 learn the task.
# - A proof of gradients sees a backward that does not fit its forward. Properties see what must not
#   change. Numbers by hand see the rest. None of them replaces another.
# - From the whole to the part: what is *right* shows where to look.
# - Special cases hide bugs: ones and zeros, equal sizes, no padding, the first call.
# - "Nothing is wrong" is a result, if the checks could have failed.
