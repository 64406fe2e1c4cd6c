"""Real models in our classes, from Hugging Face folders; and exchange with PyTorch.

    loaded = load_marian("opus-mt-de-en")
    loaded.model         our layers, with the weights of the folder
    loaded.vocabulary    turns text into ids and back; None if the folder has no tokenizer
    loaded.logits(...)   takes ids of the folder, gives logits for ids of the folder

The weights come from `model.safetensors`, in one file or in several. The packages that read it are
installed by `pip install -e '.[pretrained]'`. No pickle is opened, and nothing is downloaded.

Public names, by the file that defines them:

    bert     Bert, load_bert
    config   read_json
    convert  from_torch, to_torch
    describe  build, check_same, describe, sizes_of
    filling  fill
    gpt2     GPT2, load_gpt2, tensors_of
    layout   check_shapes, to_ours, to_theirs
    llama    LLAMAS, Llama, load_llama
    marian   Marian, layer_tensors, load_marian
    weights  File, Tensor, Undrawn, as_checkpoint_error, linear_tensors, norm_tensors, written
"""

from .bert import load_bert
from .convert import from_torch, to_torch
from .gpt2 import load_gpt2
from .llama import load_llama
from .marian import load_marian

__all__ = ["from_torch", "load_bert", "load_gpt2", "load_llama", "load_marian", "to_torch"]
