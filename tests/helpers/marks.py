"""Marks that several files of tests use."""

import sys

import pytest

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes need Linux")
