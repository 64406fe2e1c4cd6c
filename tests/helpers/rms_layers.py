"""Pre-norm layers by the root of the mean square, as a user writes them."""

from aiayn_np.variants.norms import RMSNorm
from aiayn_np.variants.pre_norm import PreNormDecoderLayer, PreNormEncoderLayer


class RMSEncoderLayer(PreNormEncoderLayer):
    stack_norm = RMSNorm


class RMSDecoderLayer(PreNormDecoderLayer):
    stack_norm = RMSNorm
    position_wise = True
