"""Real text: from files of sentence pairs to a model that translates (Sec. 5 and 6.1).

    pairs.py        reads sentence pairs, and says in which file and line something is wrong
    vocabulary.py   byte-pair encoding, one vocabulary for both languages
    batches.py      pairs of similar length, so many that a batch holds a number of tokens
    training.py     the loop: forward, loss, backward, rate, step
    translation.py  from lines to lines, in batches, greedy or by a beam search
    bleu.py         how close translations come to those of a human
    presets.py      sizes that fit a laptop, and the paper's
    estimates.py    what a training will need of memory and time, told before it begins
    speed.py        what is told of it on its way
    corpus.py, task.py, start.py, run.py    a run: from files to a folder, and out of it again
    pictures.py     loss and BLEU against steps; what a translation looked at
    number_words.py a small corpus that comes along; make_number_words.py draws and spells it
    extra.py        the two packages that only text needs

Byte-pair encoding is learned by SentencePiece, BLEU is counted by sacreBLEU; both are installed by
`pip install 'aiayn-np[text]'`, and loaded when they are needed.
"""
