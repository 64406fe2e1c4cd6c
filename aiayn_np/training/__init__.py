"""Section 5: the training loop, the loss, the optimizer, the toy tasks.

Public names, by the file that defines them:

    checks     check_seed
    loop       Progress, Step, averaged, gradient_of, share_exact, token_nats, token_scores, train,
               training_steps, validate
    loss       LabelSmoothedCrossEntropy, ModelLoss
    memory     keep_freed_memory
    optimizer  Adam, warmup_rate
    ranks      Alone, SharedGradient, end_all_ranks, launched, shared_gradient, this_rank, world
    tasks      CopyTask, ReverseTask, SortTask, Task, padded
    threads    blas_threads, check_threads
"""
