"""Section 5: the training loop, the loss, the optimizer, the toy tasks.

Public names, by the file that defines them:

    checks     check_finite, check_seed, first_not_finite
    loop       Step, averaged, token_nats, token_scores, training_steps, validated
    loss       LabelSmoothedCrossEntropy, ModelLoss
    memory     keep_freed_memory
    optimizer  Adam, warmup_rate
    ranks      Alone, end_all_ranks, launched, this_rank, world
    shares     Share, Shares
    tasks      CopyTask, ReverseTask, SortTask, Task, padded
    threads    blas_threads
    toys       Progress, progress_of, share_exact, train, validate, write_share
"""
