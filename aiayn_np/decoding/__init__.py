"""Section 6.1: greedy decoding, beam search, and the KV cache that makes both fast.

Public names, by the file that defines them:

    beam        beam_search
    conditions  may_keep
    generation  GrowingText, WholeText, generate, perplexity, start_generation
    greedy      exact_match, filled, greedy_decode
    kv_cache    KVCacheDecoder, RecomputingDecoder, start_decoding
"""
