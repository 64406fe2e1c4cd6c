"""How a tensor of a file becomes the values of one or more Parameters, and back."""

import numpy as np


class Form:
    """The same array on both sides.

    ours(tensor) gives a list of values, theirs(values) gives the tensor back. gradient(gradients)
    gives the gradient of the tensor; it differs from `theirs` if our model uses a number twice.
    """

    def ours(self, tensor):
        return [tensor]

    def theirs(self, values):
        return values[0]

    def gradient(self, gradients):
        return self.theirs(gradients)


class Transposed(Form):
    """PyTorch's Linear computes x W^T, ours x W."""

    def ours(self, tensor):
        return [tensor.T]

    def theirs(self, values):
        return values[0].T


class SideBySide(Form):
    """GPT-2 has W^Q, W^K and W^V (or their biases) side by side in one array."""

    def ours(self, tensor):
        return [part.copy() for part in np.split(tensor, 3, axis=-1)]

    def theirs(self, values):
        return np.concatenate(values, axis=-1)


class OneBelowAnother(Form):
    """torch.nn.MultiheadAttention has W^Q, W^K and W^V, each transposed, one below another."""

    def ours(self, tensor):
        return [part.T for part in np.split(tensor, 3)]

    def theirs(self, values):
        return np.concatenate([value.T for value in values])


class WithStart(Form):
    """E with one more row, a copy of the row of the token that decoding starts with.

    PyTorch gives the row of padding no gradient in an embedding. So if decoding starts with
    padding, the gradient of the additional row is left out.
    """

    def __init__(self, start, pad):
        self.start, self.learns = start, start != pad

    def ours(self, tensor):
        return [np.concatenate([tensor, tensor[self.start, None]])]

    def theirs(self, values):
        return values[0][:-1]

    def gradient(self, gradients):
        rows = gradients[0][:-1].copy()
        if self.learns:
            rows[self.start] += gradients[0][-1]
        return rows


class Row(Form):
    """A bias (V,), stored as (1, V); the start token is never written, so its bias is -inf."""

    def ours(self, tensor):
        return [np.append(tensor[0], np.asarray(-np.inf, tensor.dtype))]

    def theirs(self, values):
        return values[0][None, :-1]


class Stacked(Form):
    """E with one more row for the start token, whose logits are -inf whatever is in the row."""

    def ours(self, tensor):
        return [np.concatenate([tensor, np.zeros_like(tensor[:1])])]

    def theirs(self, values):
        return values[0][:-1]


SAME, TRANSPOSED, SIDE_BY_SIDE, BELOW, ROW, STACKED = (
    Form(), Transposed(), SideBySide(), OneBelowAnother(), Row(), Stacked())
