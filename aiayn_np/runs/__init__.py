"""Runs: begin, train, save and open the folder of a training.

Public names, by the file that defines them:

    checkpoint          load_checkpoint, save_checkpoint
    estimates           check_fits, large, parameter_count, training_bytes
    history             check_steps, columns_of, csv_of, records_in, records_of
    language            LanguageTraining
    open                open_run, saved_nothing
    pairs               PairTraining
    run                 Run
    shape               check_shape
    start               start_language, start_pairs, start_symbols
    symbols             SymbolTraining
"""
