"""The folder of a training run: what is in it, and how it is written and opened.

Public names, by the file that defines them:

    checkpoint          load_checkpoint, save_checkpoint
    estimates           check_fits, large, parameter_count, training_bytes
    live_page           most_telling_first, write_live_page
    one_text            OneTextRun
    open                announcement, open_run
    pretrained_run      GPT2Run, MarianRun, open_pretrained
    run                 Run
    text_run            TextRun, peak_memory
    text_start          start
    words_run           WordsRun, start_words
"""
