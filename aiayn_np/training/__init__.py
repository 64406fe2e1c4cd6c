"""Section 5: the training loop, the loss, the optimizer, the toy tasks.

Public names, by the file that defines them:

    checks     check_seed, check_tree
    loop       Progress, averaged, share_exact, token_nats, token_scores, train, training_steps,
               validate
    loss       LabelSmoothedCrossEntropy, ModelLoss
    memory     keep_freed_memory
    optimizer  Adam, warmup_rate
    ranks      Alone, end_all_ranks, launched, make_team, may_speak, this_rank, world
    tasks      CopyTask, ReverseTask, SortTask, Task, padded
    threads    blas_threads, check_threads, one_of_several
    workers    Workers, check_team
"""
