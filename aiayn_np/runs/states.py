"""Keep a model's states at some training steps, for a page that shows how the model learned."""

from pathlib import Path

import numpy as np

from ..files import CheckpointError, replacing

STATES = "states.npz"
EVERY, MOST = 25, 16  # steps between two states at first, and the most states


class KeptStates:
    """States of a model at steps 0, 25, 50, ..., as float16; at most 16 of them.

    When there are more, every second state is dropped, and the number of steps between two states
    doubles.

    path : the file states.npz in the run's folder
    """

    def __init__(self, path):
        self.path, self.every = Path(path), EVERY
        self.states: dict[int, dict] = {}

    def keep(self, step, model):
        """Keep the state of this step, if the step is a multiple of `every`."""
        if step % self.every:
            return
        self.states[step] = {name: value.astype(np.float16)
                             for name, value in model.state_dict().items()}
        while len(self.states) > MOST:
            self.every *= 2
            self.states = {s: v for s, v in self.states.items() if s % self.every == 0}

    def save(self):
        """Write the states to the file."""
        arrays = {f"{step}/{name}": value for step, state in self.states.items()
                  for name, value in state.items()}
        with replacing(self.path) as file:
            np.savez(file, every=np.array(self.every), **arrays)

    def load(self, last):
        """Read the states up to the step `last` from the file; do nothing if there is no file.

        Raises CheckpointError if the file is damaged.
        """
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            self.every = int(arrays.pop("every"))
            self.states = {}
            for name, value in arrays.items():
                step, _, name = name.partition("/")
                if int(step) <= last:
                    self.states.setdefault(int(step), {})[name] = value
        except FileNotFoundError:
            return
        except Exception as error:  # the readers may raise anything for damaged bytes
            raise CheckpointError(f"{self.path} is not readable: {error}") from error
