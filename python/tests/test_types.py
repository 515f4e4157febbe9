"""The annotations of the package, checked by mypy as pyproject.toml says."""
import os
import pathlib
import subprocess
import sys

import pytest

import carom

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="once is enough")
def test_annotations(tmp_path):
    pytest.importorskip("mypy")
    # without numpy's own types, which take most of the time; `python3 -m mypy` has them too
    found = subprocess.run([sys.executable, "-m", "mypy", "--follow-imports=skip", "--cache-dir", str(tmp_path)],
                           cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_annotations_are_there_for_users():
    assert (pathlib.Path(carom.__path__[0]) / "py.typed").exists()
