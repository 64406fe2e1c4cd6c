"""Exchange models and runs with PyTorch and transformers, with the same weights.

PyTorch is loaded when a function first needs it.

Public names, by the file that defines them:

    folder_format  copied, write_folder
    gpt2_format    save_gpt2
"""

from .convert import from_torch, to_torch

__all__ = ["from_torch", "to_torch"]
