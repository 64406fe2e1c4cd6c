"""The training step of steps.py in JAX, compiled as a whole."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from common import initial, rate


def norm(p, name, x):
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    normal = centred * jax.lax.rsqrt(variance + 1e-6)
    return normal * p[f"{name}.layer_norm.gamma"] + p[f"{name}.layer_norm.beta"]


def linear(p, name, x):
    return x @ p[f"{name}.W"] + p.get(f"{name}.b", 0.0)


def attend(p, name, h, x, y, hidden=0.0):
    """Multi-head attention; `hidden` is added to the scores."""
    Q, K, V = (linear(p, f"{name}.linear_{q}", z).reshape(*z.shape[:2], h, -1).swapaxes(1, 2)
               for q, z in (("Q", x), ("K", y), ("V", y)))
    weights = jax.nn.softmax(Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1]) + hidden)
    return linear(p, f"{name}.linear_O", (weights @ V).swapaxes(1, 2).reshape(x.shape))


def feed(p, name, x):
    hidden = jax.nn.relu(linear(p, f"{name}.feed_forward.linear_1", x))
    return linear(p, f"{name}.feed_forward.linear_2", hidden)


def loss_of(p, ids, c, PE):
    """Mean cross-entropy of every token, given the tokens before it and the whole source."""
    tgt, E, scale = ids[:, :-1], p["src_embedding.E"], math.sqrt(c.d_model)
    hidden = jnp.asarray(np.triu(np.full((c.T - 1, c.T - 1), -np.inf, np.float32), 1))
    x, y = E[ids] * scale + PE, E[tgt] * scale + PE[:-1]
    for n in (f"encoder.layers.{i}" for i in range(c.N)):
        x = norm(p, f"{n}.add_norm_1", x + attend(p, f"{n}.self_attention", c.h, x, x))
        x = norm(p, f"{n}.add_norm_2", x + feed(p, n, x))
    for n in (f"decoder.layers.{i}" for i in range(c.N)):
        y = norm(p, f"{n}.add_norm_1", y + attend(p, f"{n}.self_attention", c.h, y, y, hidden))
        y = norm(p, f"{n}.add_norm_2", y + attend(p, f"{n}.cross_attention", c.h, y, x))
        y = norm(p, f"{n}.add_norm_3", y + feed(p, n, y))
    log_p = jax.nn.log_softmax(y @ E.T)
    return -jnp.take_along_axis(log_p, ids[:, 1:, None], -1).mean()


@functools.cache
def compiled(c):
    """The step as one compiled function: (p, m, v, step, rate, ids) -> (p, m, v, loss)."""

    def update(p, m, v, t, rate, ids):
        tree = jax.tree.map
        loss, grad = jax.value_and_grad(loss_of)(p, ids, c, PE)
        m = tree(lambda a, g: 0.9 * a + 0.1 * g, m, grad)
        v = tree(lambda a, g: 0.98 * a + 0.02 * g * g, v, grad)
        p = tree(lambda x, a, b: x - rate * (a / (1 - 0.9**t)) / (
            jnp.sqrt(b / (1 - 0.98**t)) + 1e-9), p, m, v)
        return p, m, v, loss

    p, PE = initial(c)
    one = np.float32(1)
    ids = jnp.ones((c.B, c.T), jnp.int32)
    return jax.jit(update, donate_argnums=(0, 1, 2)).lower(p, p, p, one, one, ids).compile()


def in_jax(c):
    """(number of parameters, step); step(ids, i) returns the loss."""
    update = compiled(c)
    p = {name: jnp.asarray(value) for name, value in initial(c)[0].items()}
    state = [p, *({n: jnp.zeros_like(x) for n, x in p.items()} for _ in range(2))]
    count = sum(x.size for x in p.values())

    def step(ids, i):
        ids, t = jnp.asarray(ids, jnp.int32), np.float32(i + 1)
        *state[:], loss = update(*state, t, np.float32(rate(i)), ids)
        return float(loss)

    return count, step
