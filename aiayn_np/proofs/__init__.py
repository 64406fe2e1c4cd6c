"""The checks of gradients and of properties; test vectors for other programs.

Public names, by the file that defines them:

    adapters        as_layer
    gradient_check  GradientReport, Proof, check_gradients
    probing         randomise
    properties      assert_causal, assert_heads_equal_loop, assert_padding_invariant,
                    assert_permutation_equivariant
    vector_cases    tensors_of
    vectors         Comparison, Pair, compare_vectors, difference, write_vectors
"""
