"""The Transformer of "Attention Is All You Need" in plain NumPy, every backward by hand.

Read it beside the paper, in this order:

    module                                   the protocol: forward gives a cache, backward reads it
    softmax, masking, attention              Sec. 3.2.1, Fig. 2 left: Eq. (1)
    linear, multi_head                       Sec. 3.2.2, Fig. 2 right
    feed_forward                             Sec. 3.3: Eq. (2)
    embedding, positional_encoding           Sec. 3.4, 3.5
    layer_norm, dropout, add_norm            Sec. 3.1, 5.4: LayerNorm(x + Dropout(Sublayer(x)))
    encoder, decoder, transformer            Sec. 3.1, Fig. 1
    training/                                Sec. 5: loop, loss, optimizer (Eq. 3), toy tasks
    decoding/                                Sec. 6.1: greedy, beam search, kept keys and values
    proofs/                                  the gradient check, and other properties of a layer
    reading/                                 how much each input adds to a logit
    plotting/                                maps, tables, pictures
    runs/, cli/                              a training's folder, a model with its task, commands
    text/                                    sentence pairs: vocabulary, batches, BLEU
    models/                                  OPUS-MT, GPT-2, BERT, Llama; PyTorch
    variants/                                other scores, positions, norms, layers, models
"""

import warnings

from .module import Cache, Module, Parameter  # isort: skip
from .softmax import Softmax
from .masking import Mask, causal, not_padding
from .dropout import Dropout
from .attention import ScaledDotProductAttention
from .linear import Linear
from .multi_head import MultiHeadAttention
from .feed_forward import PositionwiseFeedForward, ReLU
from .embedding import Embedding, OutputProjection
from .positional_encoding import LearnedPositionalEncoding, SinusoidalPositionalEncoding
from .layer_norm import LayerNorm
from .add_norm import AddNorm
from .encoder import Encoder, EncoderLayer
from .decoder import Decoder, DecoderLayer
from .transformer import Transformer
from .training.loss import LabelSmoothedCrossEntropy
from .training.optimizer import Adam, warmup_rate
from .training.tasks import CopyTask, ReverseTask, SortTask, Task
from .decoding.greedy import exact_match, greedy_decode
from .decoding.beam import beam_search
from .training.toys import Progress, train
from .files import CheckpointError
from .runs.checkpoint import load_checkpoint, save_checkpoint
from .plotting.maps import attention_maps, attention_masks
from .plotting.tracing import Trace, trace
from .proofs.gradient_check import GradientReport, check_gradients
from .proofs.properties import (
    assert_causal,
    assert_heads_equal_loop,
    assert_padding_invariant,
    assert_permutation_equivariant,
)
from .plotting.figures import (
    plot_attention,
    plot_attention_grid,
    plot_loss,
)

# Apple's BLAS, and some builds of OpenBLAS, raise these flags for correct products. The filter is
# for the products of this library: training checks their numbers, and a nan stays a nan.
warnings.filterwarnings("ignore", "(divide by zero|overflow|invalid value) encountered in matmul",
                        RuntimeWarning, module=r"aiayn_np\.")

__all__ = [
    "Adam", "AddNorm", "Cache", "CheckpointError", "CopyTask", "Decoder", "DecoderLayer",
    "Dropout", "Embedding", "Encoder", "EncoderLayer", "GradientReport",
    "LabelSmoothedCrossEntropy", "LayerNorm", "LearnedPositionalEncoding", "Linear", "Mask",
    "Module", "MultiHeadAttention", "OutputProjection", "Parameter", "PositionwiseFeedForward",
    "Progress", "ReLU", "ReverseTask", "ScaledDotProductAttention",
    "SinusoidalPositionalEncoding", "Softmax", "SortTask", "Task", "Trace", "Transformer",
    "assert_causal", "assert_heads_equal_loop", "assert_padding_invariant",
    "assert_permutation_equivariant", "attention_maps", "attention_masks", "beam_search",
    "causal", "check_gradients", "exact_match", "greedy_decode", "load_checkpoint",
    "not_padding", "plot_attention", "plot_attention_grid", "plot_loss", "save_checkpoint",
    "trace", "train", "warmup_rate",
]
__version__ = "0.1.0"
