"""What the tests of the Python package share."""
import os

import numpy as np
import pytest

import carom

SCENES = carom.scenes()


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace):
    import tempfile
    doctest_namespace.update(carom=carom, np=np, os=os, tempfile=tempfile)


@pytest.fixture(scope="session")
def cp3():
    return carom.System("cp3")


@pytest.fixture(scope="session")
def bd1():
    return carom.System("bd1")
