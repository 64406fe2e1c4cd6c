"""One file for each exercise, with its text, its cases and its known mistakes."""

from ..exercise import EXERCISES, SUBJECTS
from . import (  # noqa: F401, each registers its exercise
    attention,
    baseline,
    decoding,
    embedding,
    encoder_layer,
    feed_forward,
    induction,
    layer_norm,
    linear,
    loss,
    masks,
    multi_head,
    muting,
    optimizer,
    shares,
    sinusoids,
    softmax,
    variance,
)

for exercise in sorted(EXERCISES.values(), key=lambda exercise: exercise.number):
    EXERCISES[exercise.name] = EXERCISES.pop(exercise.name)            # in the order of the numbers
    for name in exercise.objects:
        SUBJECTS[name] = SUBJECTS.pop(name)
