"""Marks that several files of tests use."""

import importlib.util
import sys

import pytest

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes need Linux")
TRANSFORMERS = pytest.mark.skipif(                                     # imported by the tests: slow
    not all(map(importlib.util.find_spec, ("torch", "transformers"))), reason="needs transformers")
