"""Real text: from files of sentence pairs to a model that translates (Sec. 5 and 6.1).

    pairs.py        reads sentence pairs; an error names the file and the line
    corpus.py       the pairs for training and for validation
    vocabulary.py   byte-pair encoding, one vocabulary for both languages
    batches.py      batches of pairs of similar length, with about equal numbers of tokens
    task.py         translation as a task: lines to ids, ids to lines
    measures.py     the record of a step, and the validation loss
    words.py        a text for a language model, its characters as ids, and windows of them
    translation.py  from lines to lines, in batches, greedy or by beam search
    bleu.py         BLEU: how close translations come to those of a human
    presets.py      sizes that fit a laptop, and the paper's sizes
    pictures.py     loss and BLEU against steps; the attention of a translation
    columns.py      the columns that a text takes in a terminal
    extra.py        imports the packages that only an extra needs

The run of a training on text is runs/pairs.py. SentencePiece learns the byte-pair encoding, and
sacreBLEU counts BLEU. `pip install -e '.[text]'` installs both; they are loaded when needed.

Public names, by the file that defines them:

    batches       Batches, arrays
    bleu          Score, bleu, check_tokenizer
    columns       flush_left, width
    corpus        Corpus
    extra         extra, install_command
    measures      TextProgress, WordsProgress, loss_on
    pairs         decoded, digest_of, read_lines
    pictures      plot_text_training, plot_translation, plot_words_training
    task          TextTask, encoded, longest
    translation   cut, decode, similar, translate
    vocabulary    Vocabulary, whole_text
    words         Characters, Pieces, Windows, WordsTask, read_words, training_part
"""
