"""The rules by which a SentencePiece model splits a line, read from its file as plain data."""

from aiayn_np.text.vocabulary import EOS, PAD, UNK, Vocabulary

from .live import NotRunnable

BPE = 2  # the number of byte-pair encoding in a model file
NORMALIZER, TRAINER = 3, 2  # the fields of a model file that are used here


def rules_of(vocabulary: Vocabulary) -> dict:
    """Return a dict for page/vocabulary.js: the pieces, their scores, and the treatment of spaces.

    Raises NotRunnable for a model that is not a byte-pair encoding, that normalises characters
    before it splits a line, or that falls back to bytes.
    """
    model = fields(vocabulary.model)
    normalizer, trainer = fields(model[NORMALIZER][-1]), fields(model[TRAINER][-1])
    name = normalizer.get(1, [b"identity"])[-1].decode()
    if normalizer.get(2, [b""])[-1]:
        raise NotRunnable(f"its vocabulary changes characters before it cuts: {name}")
    if trainer.get(3, [1])[-1] != BPE or trainer.get(35, [0])[-1]:
        raise NotRunnable("its vocabulary is not a byte-pair encoding of characters")
    if not normalizer.get(5, [1])[-1] or trainer.get(24, [0])[-1]:
        raise NotRunnable("its vocabulary writes spaces in another way")
    processor = vocabulary.processor
    ids = range(len(vocabulary))
    return dict(
        pieces=[processor.id_to_piece(i) for i in ids],
        scores=[processor.get_score(i) for i in ids], unk=UNK, eos=EOS, pad=PAD,
        add_dummy_prefix=bool(normalizer.get(3, [1])[-1]),
        remove_extra_whitespaces=bool(normalizer.get(4, [1])[-1]),
    )


def fields(data):
    """Return {number of a field: its values} of a protocol buffer message: integers and bytes."""
    found: dict[int, list] = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at : at + size], at + size
        found.setdefault(number, []).append(value)
    return found


def varint(data, at):
    """Return (the integer that begins at byte `at`, the next position): 7 bits in each byte."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
