"""Layers of PyTorch are checked as they are: autograd's result against differences."""

import pytest
from pytorch import one_thread, pytorch
from test_adapters import of_tensors

from aiayn_np import check_gradients

torch_alone = pytest.fixture(one_thread)
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("torch_alone")]


def square_times(factor):
    torch = pytorch()

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x**2 * w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            return factor * grad * x * w, (grad * x**2).sum(0)

    return Square


@pytest.mark.parametrize("factor", [2, 2.00001])
def test_a_function_of_pytorch(factor, rng):
    report = check_gradients(square_times(factor), rng.standard_normal((3, 4)),
                             rng.standard_normal(4))
    assert of_tensors(report, ok=False) == ([] if factor == 2 else ["x"]), report
    assert report.title == "Square"


def test_modules_of_pytorch_pass(rng):
    nn = pytorch().nn
    layers = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.3), nn.Linear(6, 2)
    layers[0].bias.requires_grad_(False)
    report = check_gradients(nn.Sequential(*layers), rng.standard_normal((5, 4)))
    assert report, report
    assert of_tensors(report, ok=True) == [
        "input", "0.weight", "1.weight", "1.bias", "3.weight", "3.bias"]
    assert list(report.not_checked) == ["0.bias"]                      # it is fixed
    x = rng.standard_normal((2, 3, 4))
    report = check_gradients(nn.MultiheadAttention(4, 2, batch_first=True), x, x + 1, x - 1)
    assert report, report


def test_a_module_of_pytorch_that_cuts_its_graph_is_found(rng):
    class Cut(pytorch().nn.Linear):
        def forward(self, x):
            return super().forward(x) + super().forward(x).detach()

    report = check_gradients(Cut(4, 3), rng.standard_normal((5, 4)))
    assert of_tensors(report, ok=False) == ["x", "weight", "bias"], report


def test_all_outputs_of_a_module_of_pytorch_are_compared(rng):
    nn = pytorch().nn

    class CutCell(nn.LSTM):
        def forward(self, x):
            y, (h, c) = super().forward(x)
            return y, (h, c.detach())

    class CutWeights(nn.MultiheadAttention):
        def forward(self, *arrays):
            y, weights = super().forward(*arrays)
            return y, weights.detach()

    x = rng.standard_normal((3, 2, 4))
    for right, cut, inputs in [(nn.LSTM, CutCell, (x,)),
                               (nn.MultiheadAttention, CutWeights, (x, x + 1, x - 1))]:
        report = check_gradients(right(4, 2), *inputs)
        assert report, report
        assert report.worst.error < 1e-7                               # so it is in float64
        assert not check_gradients(cut(4, 2), *inputs)
