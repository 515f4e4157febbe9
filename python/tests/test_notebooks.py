"""The notebooks run from top to bottom, and show what they say."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

NOTEBOOKS = pathlib.Path(__file__).parent.parent / "notebooks"
SHOWN = {
    "learn_from_trajectories": ["friction: 0.2", "restitution: 0.8", "<svg", "<iframe"],
    "gradient_through_a_contact": ["time 0.428353, closed form 0.428353",
                                   "derivative 0.237974, closed form 0.237974", "image/png"],
    "cone_program_layer": ["array([1.6, 0.8])", "[0.3 0.7]", "True ConeInfo(status='solved'"],
}


def test_all_are_known():
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(SHOWN)


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="kernels are not run under the sanitizers")
@pytest.mark.parametrize("name", sorted(SHOWN))
def test_notebook(name, tmp_path):
    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    if name == "cone_program_layer":
        pytest.importorskip("torch")
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir",
               str(tmp_path), str(NOTEBOOKS / f"{name}.ipynb")]
    environment = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1",
                   "PYTHONPATH": os.path.abspath(os.environ.get("PYTHONPATH", "")),
                   "JUPYTER_PLATFORM_DIRS": "1", "MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    cells = json.loads((tmp_path / f"{name}.ipynb").read_text())["cells"]
    shown = "\n".join(
        "".join(output.get("text", [])) + "".join(f"{kind} {''.join(value)}" for kind, value in
                                                  output.get("data", {}).items())
        for cell in cells for output in cell.get("outputs", []))
    for text in SHOWN[name]:
        assert text in shown, text
