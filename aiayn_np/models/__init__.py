"""Real models in our layers, from Hugging Face folders; and exchange with PyTorch.

    loaded = load_marian("opus-mt-de-en")
    loaded.model         our layers, with the weights of the folder
    loaded.vocabulary    turns text into ids and back; None if the folder has no tokenizer
    loaded.logits(...)   takes ids of the folder, gives logits for ids of the folder

The weights come from `model.safetensors`, in one file or in several. The packages that read it are
installed by `pip install -e '.[pretrained]'`. No pickle is opened, and nothing is downloaded.

Public names, by the file that defines them:

    bert     MASK, Bert
    config   read_json
    convert  from_torch, to_torch
    fsmt     FSMT
    gpt2     GPT2
    llama    LLAMAS, Llama
    marian   Marian
    marian_export  as_marian, export_marian
    tables   Form, Link, check_room, check_tensors, linear, links, load, norm, state_of
    twin     build, check_same, config_of
    two_stacks  TwoStacks
    weights  File, write_folder
"""

from .bert import Bert as load_bert
from .convert import from_torch, to_torch
from .fsmt import FSMT as load_fsmt
from .gpt2 import GPT2 as load_gpt2
from .llama import Llama as load_llama
from .marian import Marian as load_marian

__all__ = ["from_torch", "load_bert", "load_fsmt", "load_gpt2", "load_llama", "load_marian",
           "to_torch"]
