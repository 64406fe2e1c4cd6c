"""Runs: begin, train, save and open the folder of a training; use what it has trained.

A Run is a folder with a checkpoint and a history. Its task knows the data, the batches, the
validation and the report. A Loaded is a model with its task, as the commands use it: that of a run,
or a real model from a folder of Hugging Face.

Public names, by the file that defines them:

    checkpoint  load_checkpoint, read_step, save_checkpoint
    family      write_family
    going_on    continued_run
    loaded      Loaded, SymbolTranslator, Translator, Writer
    open        is_run, open_run
    real        real_model
    recipes     Recipe
    run         Run
    start       start_run
    task        RunTask, absolute
    written     Written
"""
