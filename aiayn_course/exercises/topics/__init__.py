"""One file for each exercise, with its text, its cases and its known mistakes."""

from ..exercise import EXERCISES, SUBJECTS
from . import (  # noqa: F401, each registers its exercise
    attention,
    decoding,
    embedding,
    encoder_layer,
    feed_forward,
    layer_norm,
    linear,
    loss,
    masks,
    multi_head,
    optimizer,
    sinusoids,
    softmax,
)

for exercise in sorted(EXERCISES.values(), key=lambda exercise: exercise.number):
    EXERCISES[exercise.name] = EXERCISES.pop(exercise.name)            # in the order of the numbers
    for name in exercise.objects:
        SUBJECTS[name] = SUBJECTS.pop(name)
