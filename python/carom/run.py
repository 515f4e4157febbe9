"""Run folders: what `carom train` and `carom.fit(folder=...)` write."""
from __future__ import annotations

import csv
import json
import pathlib
from typing import Any, Dict, Optional

import numpy as np

from ._engine import check, error, ffi, lib, path_bytes, string
from ._types import Array
from .data import Dataset
from .errors import FileError
from .learn import Evaluation, Model
from .rollout import Trajectory
from .system import System


class Run:
    """A trained model with its data, configuration and curves: see `carom.load_run`."""

    def __init__(self, folder: Any, checkpoint: str = "best"):
        if checkpoint not in ("best", "last"):
            raise ValueError(f"checkpoint is {checkpoint!r}, must be best or last")
        self.folder = pathlib.Path(folder)
        self.checkpoint = checkpoint
        config, system = ffi.new("carom_run_config *"), ffi.new("carom_system **")
        check(lib.carom_run_config_read(path_bytes(self.folder / "config.json"), config, system, error()))
        lib.carom_system_destroy(system[0])
        self.system = System(string(config.scene))
        self._data_path = self.folder / string(config.data)
        self._data_contact = "cmr" if config.data_contact == lib.CAROM_CMR else "cm"
        self._dataset_options = ffi.new("carom_dataset_options *", config.dataset)
        lib.carom_run_config_free(config)
        self._model: Optional[Model] = None
        self._data: Optional[Dataset] = None

    @property
    def config(self) -> Dict[str, Any]:
        """config.json as a dict."""
        return json.loads((self.folder / "config.json").read_text())

    @property
    def metrics(self) -> Dict[str, Array]:
        """metrics.csv: a column for each number, a row for each epoch; NaN where there is none."""
        path = self.folder / "metrics.csv"
        if not path.exists():
            raise FileError(f"{path}: the run has no metrics")
        with path.open(newline="") as file:
            rows = list(csv.reader(file))
        header = rows[0] if rows else []
        whole = [row for row in rows[1:] if len(row) == len(header)]
        return {name: np.array([float(row[k]) if row[k] else np.nan for row in whole])
                for k, name in enumerate(header)}

    @property
    def model(self) -> Model:
        """The model of the checkpoint."""
        if self._model is None:
            self._model = Model.load(self.system, self.folder / f"{self.checkpoint}.h5")
        return self._model

    @property
    def data(self) -> Dataset:
        """The data set it was trained on."""
        if self._data is None:
            from ._engine import file_lock
            made = ffi.new("carom_dataset **")
            with file_lock():
                check(lib.carom_dataset_read(self.system._c, path_bytes(self._data_path),
                                             self._dataset_options, made, error()))
            self._data = Dataset(self.system, made[0])
        return self._data

    def evaluate(self, data: Any = None, split: str = "test", **options: Any) -> Evaluation:
        """How good the model is on its own data, or on other data."""
        options.setdefault("contact", self._data_contact)
        if data is None:
            return self.model.evaluate(self.data, split, **options)
        return self.model.evaluate(data, split, train=self.data, **options)

    def predict(self, x0: Any, v0: Any, steps: int) -> Trajectory:
        """Predicted trajectories from x0, v0 [batch, points, dimension]."""
        return self.model.predict(x0, v0, steps)

    def plot(self) -> Any:
        """Losses and learned properties over the epochs, as a matplotlib figure."""
        from .notebook import run_figure
        return run_figure(self)

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}, {self.system.name}, {self.checkpoint})"

    def _repr_html_(self) -> str:
        from .notebook import run_html
        return run_html(self)


def load_run(folder: Any, checkpoint: str = "best") -> Run:
    """The run in a folder; `checkpoint` is "best" (lowest validation loss) or "last".

    run.metrics, run.model, run.data, run.evaluate(), run.predict(x0, v0, 50), run.plot()
    """
    return Run(folder, checkpoint)
