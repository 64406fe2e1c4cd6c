"""The Transformer of "Attention Is All You Need" in plain NumPy, every backward by hand.

Read it beside the paper, in this order:

    module                                   the protocol: forward gives a cache, backward reads it
    softmax, masking, attention              Sec. 3.2.1, Fig. 2 left: Eq. (1)
    linear, multi_head                       Sec. 3.2.2, Fig. 2 right
    feed_forward                             Sec. 3.3: Eq. (2)
    embedding, positional_encoding           Sec. 3.4, 3.5
    layer_norm, dropout, add_norm            Sec. 3.1, 5.4: LayerNorm(x + Dropout(Sublayer(x)))
    encoder, decoder, transformer            Sec. 3.1, Fig. 1
    loss, optimizer                          Sec. 5.4, 5.3: Eq. (3)
    tasks, training, decoding, checkpoint    Sec. 5, 6.1
    gradient_check, properties               the proof, and what a forward must not do
    maps, trace, plotting                    the tables and the pictures
    experiments/                             the paper's claims, measured
    variants/                                other scores, positions, norms, layers, models
    zoo/                                     32 bugs of the field, and the checks that catch them
"""

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
from .loss import LabelSmoothedCrossEntropy
from .optimizer import Adam, warmup_rate
from .tasks import CopyTask, ReverseTask, SortTask, Task
from .decoding import exact_match, greedy_decode
from .beam import beam_search
from .training import Progress, train
from .checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from .maps import attention_maps, attention_masks
from .trace import Trace, trace
from .gradient_check import GradientReport, check_gradients
from .properties import (
    assert_causal,
    assert_heads_equal_loop,
    assert_padding_invariant,
    assert_permutation_equivariant,
)
from .plotting import plot_attention, plot_attention_grid, plot_loss, plot_positional_encoding
from .memory import keep_freed_memory

__version__ = "0.1.0"

keep_freed_memory()
