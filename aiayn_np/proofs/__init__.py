"""The checks of gradients, of derivations, and of properties that every right forward has.

Public names, by the file that defines them:

    adapters        as_layer
    derivation      DerivationReport, check_derivation
    gradient_check  GradientReport, Proof, check_gradients
    probing         randomise
    properties      assert_causal, assert_heads_equal_loop, assert_padding_invariant,
                    assert_permutation_equivariant
"""
