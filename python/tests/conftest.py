"""What the tests of the Python package share."""
import os
import signal

# a shell starts what runs in its background with Ctrl-C ignored, which would be inherited
signal.signal(signal.SIGINT, signal.default_int_handler)

# threads that wait do not spin: the tests' own processes need the processors
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np  # noqa: E402
import pytest  # noqa: E402

import carom  # noqa: E402

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
