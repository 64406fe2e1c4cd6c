"""Make the tokenizers of GPT-2, BERT and Llama from the files of a folder, as transformers does.

The vocabulary is in `tokenizer.json`, or in `vocab.json` and `merges.txt`, or in `vocab.txt`.
`tokenizer_config.json` says how a text is cut: its settings and their defaults also count where
`tokenizer.json` says something else. But GPT-2's `add_bos_token` and `add_eos_token` only count if
`tokenizer.json` does not say which tokens stand around a text. A Llama's text is cut as its
`tokenizer.json` says, whatever the class; without this file it has no tokenizer here. Truncation
and padding are not used.
"""

from pathlib import Path
from typing import Any

from ..files import CheckpointError
from ..text.extra import extra
from .config import fetched, read_json
from .loaded import check_vocabulary
from .vocabularies import TokenizerVocabulary, all_or_none

WHOLE = "tokenizer.json"
TOKENIZER_FILES = (WHOLE, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                   "merges.txt", "vocab.txt")
AS_IT_IS = ("PreTrainedTokenizerFast", "TokenizersBackend")  # classes that change nothing
NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
GPT2_TOKENS = dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>")
BERT_TOKENS = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]",
               "cls_token": "[CLS]", "mask_token": "[MASK]"}


def gpt2_vocabulary(folder, sizes):
    """Make the vocabulary of a GPT-2 folder; return None if the folder has no tokenizer."""
    return tokenizer_vocabulary(folder, sizes, "GPT2Tokenizer", ("vocab.json", "merges.txt"), gpt2)


def bert_vocabulary(folder, sizes):
    """Make the vocabulary of a BERT folder; return None if the folder has no tokenizer."""
    return tokenizer_vocabulary(folder, sizes, "BertTokenizer", ("vocab.txt",), bert)


def llama_vocabulary(folder, sizes):
    """Make the vocabulary of a Llama folder; return None if the folder has no tokenizer.json."""
    return tokenizer_vocabulary(folder, sizes)


def tokenizer_vocabulary(folder, sizes, usual=None, names=(), make=None):
    """Make a vocabulary from tokenizer.json or the files `names`; return None without either.

    usual : the name of the class in transformers, None for any
    make : `gpt2` or `bert`; None takes tokenizer.json as it is
    """
    folder = Path(folder)
    whole = (folder / WHOLE).is_file()
    if not whole and not (names and all_or_none(folder, *names)):
        return None
    library, settings = extra("tokenizers", of="pretrained"), settings_of(folder)
    name = settings.get("tokenizer_class") or sizes.tokenizer_class or usual
    if make and name not in (usual, f"{usual}Fast", *(AS_IT_IS if whole else ())):
        raise CheckpointError(f"{folder}: tokenizer_class must be {usual}, got {str(name)[:60]}")
    paths = [str(fetched(folder / file)) for file in ([WHOLE] if whole else names)]
    try:
        tokenizer: Any = library.Tokenizer.from_file(*paths) if whole else None
        if make and name not in AS_IT_IS:
            tokenizer = make(library, tokenizer, paths, settings)
        add_tokens(library, tokenizer, settings)
    except CheckpointError:
        raise
    except Exception as error:  # the library raises Exception itself
        raise CheckpointError(f"{folder} has no readable tokenizer: {error}") from error
    check_vocabulary(folder, list(tokenizer.get_vocab().values()), sizes.V)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return TokenizerVocabulary(tokenizer)


def settings_of(folder):
    """Read tokenizer_config.json, and the files into which older versions wrote more settings."""
    def read(name):
        return read_json(folder / name) if (folder / name).is_file() else {}

    settings = read("tokenizer_config.json")
    if settings.get("split_special_tokens"):
        raise CheckpointError(f"{folder}: split_special_tokens must be false or missing")
    if "added_tokens_decoder" not in settings:
        settings |= read("special_tokens_map.json")
        settings["added_tokens_decoder"] = {
            i: dict(content=token, special=token in map(content, settings.values()))
            for token, i in read("added_tokens.json").items()}
    return settings


def content(token):
    """Return the text of a token of the settings, which is a string or an object."""
    return token.get("content") if isinstance(token, dict) else token


def gpt2(library, tokenizer, paths, settings):
    """Make GPT-2's tokenizer, from that in tokenizer.json if there is one."""
    if tokenizer is None:
        tokenizer = library.Tokenizer(library.models.BPE.from_file(*paths))
    tokenizer.normalizer, tokenizer.decoder = None, library.decoders.ByteLevel()
    tokenizer.pre_tokenizer = library.pre_tokenizers.ByteLevel(
        add_prefix_space=settings.get("add_prefix_space", False))
    tokens = named(library, tokenizer, GPT2_TOKENS, settings)
    if tokenizer.post_processor is None:
        tokenizer.post_processor = template(library, tokenizer, *(
            [tokens.get(f"{end}_token")] if settings.get(f"add_{end}_token") else []
            for end in ("bos", "eos")))
    return tokenizer


def bert(library, tokenizer, paths, settings):
    """Make BERT's tokenizer, from that in tokenizer.json if there is one."""
    unknown = content(settings.get("unk_token", BERT_TOKENS["unk_token"]))
    if tokenizer is None:
        tokenizer = library.Tokenizer(library.models.WordPiece.from_file(*paths, unk_token=unknown))
    tokenizer.normalizer = library.normalizers.BertNormalizer(
        clean_text=True, lowercase=settings.get("do_lower_case", True),
        handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
        strip_accents=settings.get("strip_accents"))
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = library.decoders.WordPiece(prefix="##")
    tokens = named(library, tokenizer, BERT_TOKENS, settings)
    tokenizer.post_processor = template(library, tokenizer, [tokens.get("cls_token")],
                                        [tokens.get("sep_token")])
    return tokenizer


def named(library, tokenizer, defaults, settings):
    """Make the named tokens in the vocabulary special, and return {name: text}."""
    tokens = {name: settings.get(name, defaults.get(name)) for name in NAMES}
    tokens = {name: token for name, token in tokens.items()
              if token and tokenizer.token_to_id(content(token)) is not None}
    known = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    tokenizer.add_special_tokens([added(library, token) for token in tokens.values()
                                  if content(token) not in known])
    return {name: content(token) for name, token in tokens.items()}


def template(library, tokenizer, before, after):
    """Make the post-processor that adds special tokens before and after a text."""
    special = [(token, tokenizer.token_to_id(token)) for token in {*before, *after}]
    return library.processors.TemplateProcessing(single=[*before, "$A", *after],
                                                 special_tokens=special)


def add_tokens(library, tokenizer, settings):
    """Add the further tokens in the settings; raise ValueError if one gets another id."""
    decoder = {int(i): token for i, token in settings["added_tokens_decoder"].items()}
    for i, token in sorted(decoder.items()):
        tokenizer.add_tokens([added(library, token)])
        if (got := tokenizer.token_to_id(content(token))) != i:
            raise ValueError(f"{content(token)} must have the id {i}, got {got}")
    for key in ("extra_special_tokens", "additional_special_tokens"):
        more = settings.get(key) or []
        more = more.values() if isinstance(more, dict) else more
        tokenizer.add_special_tokens([added(library, token) for token in more])


def added(library, token):
    """Turn a token in the settings into an AddedToken of the library."""
    token = token if isinstance(token, dict) else dict(content=token, special=True)
    return library.AddedToken(**{name: value for name, value in token.items() if name != "__type"})
