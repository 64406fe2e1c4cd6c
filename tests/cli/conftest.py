"""The parser of the whole command line is made once: each command of a test asks for it."""

import functools

import pytest

import aiayn_np.cli.parser


@pytest.fixture(autouse=True, scope="module")
def one_parser():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiayn_np.cli.parser, "parser", functools.cache(aiayn_np.cli.parser.parser))
        yield
