"""The names by which the command line chooses variants of a Transformer."""

from ..decoder import DecoderLayer
from ..encoder import EncoderLayer
from ..positional_encoding import LearnedPositionalEncoding, SinusoidalPositionalEncoding
from .pre_norm import PreNormDecoderLayer, PreNormEncoderLayer
from .relative_position import relative_attention
from .rotary import rotary_attention
from .scoring import additive_attention, concat_attention, dot_attention, general_attention

# option -> name -> keywords of Transformer; the first name of each option is the paper's
CHOICES: dict[str, dict[str, dict]] = {
    "attention": {
        "scaled-dot": {"attention": None},
        "dot": {"attention": dot_attention},
        "general": {"attention": general_attention},
        "concat": {"attention": concat_attention},
        "additive": {"attention": additive_attention},
        "relative": {"attention": relative_attention},
        "rotary": {"attention": rotary_attention},
    },
    "positions": {
        "sinusoidal": {"positions": SinusoidalPositionalEncoding},
        "learned": {"positions": LearnedPositionalEncoding},
    },
    "norm": {
        "post": {"encoder_layer": EncoderLayer, "decoder_layer": DecoderLayer},
        "pre": {"encoder_layer": PreNormEncoderLayer, "decoder_layer": PreNormDecoderLayer},
    },
}


def keywords(chosen: dict[str, str]) -> dict:
    """Return keywords of Transformer for {option: name}."""
    result: dict = {}
    for option, name in chosen.items():
        result |= CHOICES[option][name]
    return result
