"""Runs: begin, train, save and open the folder of a training.

Public names, by the file that defines them:

    checkpoint          load_checkpoint, save_checkpoint
    open                Opened, open_run, own_run
    run                 Run
    start               start_language, start_pairs, start_symbols
"""
