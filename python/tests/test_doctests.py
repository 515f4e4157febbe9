"""The examples of the docstrings."""
import doctest
import importlib
import os
import pkgutil
import sys
import tempfile

import numpy as np
import pytest

import carom

MODULES = [name for _, name, _ in pkgutil.iter_modules(carom.__path__) if name != "_carom"]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples(name):
    if name.startswith("torch"):
        if os.environ.get("CAROM_TEST_NO_TORCH"):
            pytest.skip("torch is left out here")
        pytest.importorskip("torch")
    module = importlib.import_module(f"carom.{name}" if name else "carom")
    names = {"carom": carom, "np": np, "os": os, "tempfile": tempfile}
    if name.startswith("torch"):
        names["torch"] = sys.modules["torch"]
    with np.printoptions(legacy=False):
        result = doctest.testmod(module, extraglobs=names, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0
    if name == "system":
        assert result.attempted > 10


def test_every_public_name_is_documented():
    for name in dir(carom):
        value = getattr(carom, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type(os)):
            assert value.__doc__, name
