"""Real text: from files of sentence pairs to a model that translates (Sec. 5 and 6.1).

The run of a training on text is runs/pairs.py. SentencePiece learns the byte-pair encoding, and
sacreBLEU counts BLEU. `pip install -e '.[text]'` installs both; they are loaded when needed.

Public names, by the file that defines them:

    batches       Batches, arrays
    bleu          Score, bleu
    columns       flush_left, width
    corpus        Corpus
    extra         extra, install_command
    language      Characters, LanguageTask, Pieces, Windows, read_text, training_part
    measures      LanguageProgress, PairProgress, TextProgress, loss_on
    pairs         decoded, digest_of, read_lines, split
    pictures      plot_language_training, plot_pair_training, plot_translation
    task          PairTask, encoded
    translation   cut, decode, similar, translate
    vocabulary    Vocabulary, whole_text
"""
