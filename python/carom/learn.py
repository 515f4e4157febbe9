"""Models, their training and evaluation."""
from __future__ import annotations

import json
import os
import pathlib
import threading
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _engine
from ._engine import (NULL, Watch, check, copied, error, ffi, file_lock, get_options, lib, owned,
                      path_bytes, pointer, set_options, shaped, string, view)
from ._types import Array
from .data import Chunks, Dataset, dataset_of
from .errors import StateError
from .rollout import Report, Trajectory, report_of, warn_of_failures
from .system import Parameters, System

_splits = {"train": lib.CAROM_TRAIN, "val": lib.CAROM_VALIDATION, "validation": lib.CAROM_VALIDATION,
           "test": lib.CAROM_TEST}


def models() -> List[str]:
    """Names of the models.

    >>> carom.models()[:4]
    ['cm-cd-clnn', 'cm-cd-chnn', 'cmr-cd-clnn', 'cmr-cd-chnn']
    """
    return [string(lib.carom_model_name(k)) for k in range(lib.carom_model_name_count())]


class Model:
    """A model of a system whose masses, potential, friction and restitution are unknown.

    `name` is one of `carom.models()`. Scales of lengths and speeds are those of `data`: the data set that
    is given here, else the one that `fit` first trains on. `options` are `carom.model_options()`:
    hidden_layers, hidden_size, seed, single_precision, ...

    >>> system = carom.System("bd1")
    >>> data = carom.Dataset.generate(system, train=8, validation=2, test=2)
    >>> model = carom.Model(system, "cm-cd-clnn", hidden_size=16, seed=1, data=data)
    >>> sorted(model.properties())[:2]
    ['friction', 'moment/a/x']
    """

    def __init__(self, system: System, name: str = "cm-cd-clnn", *, data: Any = None, **options: Any):
        chosen = ffi.new("carom_model_options *", lib.carom_model_default_options(system._c))
        check(lib.carom_model_options_by_name(chosen, name.encode(), error()))
        set_options(lib.CAROM_MODEL_OPTIONS, chosen, options)
        check(lib.carom_model_options_check(chosen, system._c, error()))
        self.system = system
        self.name = name
        self._chosen = chosen
        self._model: Any = None
        self._scaled = "length_scale" in options
        self._lock = threading.RLock()
        if data is not None:
            self._create(dataset_of(system, data))

    @classmethod
    def load(cls, system: System, path: Any) -> "Model":
        """Reads a model from a checkpoint: best.h5 or last.h5 of a run."""
        made = ffi.new("carom_model **")
        with file_lock():
            check(lib.carom_model_load(system._c, path_bytes(path), made, error()))
        model = cls.__new__(cls)
        model.system, model._lock, model._scaled = system, threading.RLock(), True
        model._model = owned(made[0], lib.carom_model_destroy, system._c)
        info = lib.carom_model_describe(made[0])
        model._chosen = ffi.new("carom_model_options *", info.options)
        model.name = string(lib.carom_model_options_name(model._chosen))
        return model

    def save(self, path: Any) -> None:
        with self._lock, file_lock():
            check(lib.carom_model_save(self._c, path_bytes(path), error()))

    def _create(self, data: Optional[Dataset]) -> None:
        if data is not None and not self._scaled:
            check(lib.carom_model_options_by_data(self._chosen, self.system._c, data._c, error()))
        watch, made = Watch(), ffi.new("carom_model **")
        used = ffi.new("carom_model_options *", self._chosen[0])
        watch.attach(used)
        used.threads = _engine.thread_limit(used.threads)
        watch.check(lib.carom_model_create(self.system._c, used, made, error()))
        self._model = owned(made[0], lib.carom_model_destroy, self.system._c, watch)

    @property
    def _c(self) -> Any:
        if self._model is None:
            self._create(None)
        if _engine._forked:
            lib.carom_model_set_threads(self._model, 1)
        return self._model

    @property
    def options(self) -> Dict[str, Any]:
        return get_options(lib.CAROM_MODEL_OPTIONS, self._chosen)

    @property
    def dt(self) -> float:
        return self._chosen.dt

    # ---- what it has learned ----

    @property
    def vector(self) -> Array:
        """The learnable parameters as one vector: a view, open to change."""
        c = self._c
        count = lib.carom_model_describe(c).parameter_count
        return view(c, lib.carom_model_parameters(c), (count,), writable=True)

    @property
    def arrays(self) -> Dict[str, Array]:
        """The same by name ("mass", "friction", "weight0", "bias0", ...): views, open to change."""
        c, vector, found = self._c, self.vector, {}
        for k in range(lib.carom_model_describe(c).array_count):
            info = lib.carom_model_array(c, k)
            part = vector[info.offset:info.offset + info.rows * info.columns]
            found[string(info.name)] = part.reshape(info.rows, info.columns) if info.rows > 1 else part
        return found

    def theta(self) -> Parameters:
        """What they stand for, as parameters of the system."""
        theta = np.empty(self.system._parameter_count)
        with self._lock:
            lib.carom_model_theta(self._c, pointer(theta))
        return Parameters(self.system, theta)

    def properties(self) -> Dict[str, float]:
        """What was learned about bodies and contacts: friction, restitution, mass_ratio/BODY, ..."""
        return self._properties_at(self.theta().array)

    def true_properties(self) -> Dict[str, float]:
        """The same of the scene's own parameters."""
        return self._properties_at(self.system.parameters().array)

    def _properties_at(self, theta: Array) -> Dict[str, float]:
        found = ffi.new("carom_properties *")
        check(lib.carom_model_properties(self._c, found, error()))
        made = {string(found.items[k].name): lib.carom_property_value(found.items + k, pointer(theta))
                for k in range(found.count)}
        lib.carom_properties_free(found)
        return made

    # ---- using it ----

    def loss(self, chunks: Chunks, indices: Any = None) -> Tuple[float, Array]:
        """Mean |predicted - true| over chunks (or those of `indices`), and its gradient by `vector`."""
        c = ffi.new("carom_chunks *")
        x = _engine.numbers(chunks.x, "x")
        v = _engine.numbers(chunks.v, "v")
        if x.ndim != 4 or x.shape[2:] != self.system.state_shape or v.shape != x.shape:
            raise ValueError(f"x and v have shapes {list(x.shape)} and {list(v.shape)}, must both be "
                             f"[count, states, {self.system.point_count}, {self.system.dimension}]")
        contact = np.ascontiguousarray(chunks.contact, np.uint8)
        if contact.shape != x.shape[:2]:
            raise ValueError(f"contact has shape {list(contact.shape)}, must be {list(x.shape[:2])}")
        c.count, c.states, c.dt = x.shape[0], x.shape[1], chunks.dt
        held = [pointer(x), pointer(v), ffi.from_buffer("uint8_t[]", contact)]
        c.x, c.v, c.contact = held
        picked, count = NULL, len(x)
        if indices is not None:
            indices = np.ascontiguousarray(indices, np.intc)
            if indices.ndim != 1 or np.any(indices < 0) or np.any(indices >= len(x)):
                raise IndexError(f"indices must be between 0 and {len(x) - 1}")
            picked, count = ffi.from_buffer("int[]", indices), len(indices)
        loss, report = ffi.new("double *"), ffi.new("carom_report *")
        with self._lock:
            gradient = np.empty(len(self.vector))
            check(lib.carom_model_loss(self._c, c, count, picked, loss, pointer(gradient), report,
                                       error()))
        return loss[0], gradient

    def predict(self, x0: Any, v0: Any, steps: int) -> Trajectory:
        """Predicted trajectories from x0, v0 [batch, points, dimension]."""
        x0, v0, batched = self.system._states(x0, v0)
        if not 0 <= steps < 2 ** 31 - 1:
            raise ValueError(f"steps is {steps}, must be at least 0")
        x = np.empty((len(x0), steps + 1, *self.system.state_shape))
        v, contact = np.empty_like(x), np.zeros(x.shape[:2], np.bool_)
        report = ffi.new("carom_report *")
        with self._lock:
            check(lib.carom_model_predict(self._c, len(x0), steps, pointer(x0), pointer(v0), pointer(x),
                                          pointer(v), ffi.from_buffer("uint8_t[]", contact), report,
                                          error()))
        warn_of_failures(report, 3)
        if not batched:
            x, v, contact = x[0], v[0], contact[0]
        return Trajectory(self.system, x, v, dt=self.dt, contact=contact, report=report_of(report),
                          batched=batched)

    def potential(self, x: Any) -> Array:
        """The learned potential at states x [..., points, dimension]."""
        x = self._points(x)
        value = np.empty(int(np.prod(x.shape[:-2])))
        with self._lock:
            check(lib.carom_model_potential(self._c, len(value), pointer(x), pointer(value), error()))
        return value.reshape(x.shape[:-2])

    def force(self, x: Any) -> Array:
        """Minus the gradient of the learned potential."""
        x = self._points(x)
        force = np.empty_like(x)
        count = int(np.prod(x.shape[:-2]))
        with self._lock:
            check(lib.carom_model_force(self._c, count, pointer(x), pointer(force), error()))
        return force

    def _points(self, x: Any) -> Array:
        x = _engine.numbers(x, "x")
        if x.ndim < 2 or x.shape[-2:] != self.system.state_shape:
            raise ValueError(f"x has shape {list(x.shape)}, must be [..., {self.system.point_count}, "
                             f"{self.system.dimension}]")
        return x

    def evaluate(self, data: Any, split: str = "test", *, train: Optional[Dataset] = None,
                 **options: Any) -> "Evaluation":
        """How good it is on the chunks of a split. `options`: steps, truth_known, contact, ..."""
        data = dataset_of(self.system, data)
        chosen = ffi.new("carom_evaluation_options *", lib.carom_evaluation_default_options())
        set_options(lib.CAROM_EVALUATION_OPTIONS, chosen, options)
        chosen.threads = _engine.thread_limit(chosen.threads)
        if train is not None:
            chosen.train = lib.carom_dataset_split(train._c, lib.CAROM_TRAIN)
        if split not in _splits:
            raise ValueError(f"split is {split!r}, must be train, validation or test")
        made = ffi.new("carom_evaluation **")
        with self._lock:
            check(lib.carom_model_evaluate(self._c, data._c, _splits[split], chosen, made, error()))
        return Evaluation(self.system, made[0])

    def __repr__(self) -> str:
        state = "not made yet" if self._model is None else \
            f"{lib.carom_model_describe(self._model).parameter_count} parameters"
        return f"Model({self.name!r} of {self.system.name}, {state})"


class Evaluation(Dict[str, Any]):
    """Every number of an evaluation by its name, as `carom evaluate` writes them; arrays beside it.

    x, v, true_x, true_v   the longer predictions and the true motion [count, states, points, dimension]
    chunk_x, chunk_v, data_x, data_v   predictions along the chunks and the data
    """

    def __init__(self, system: System, pointer: Any):
        c = owned(pointer, lib.carom_evaluation_destroy)
        text = lib.carom_evaluation_json(c, system._c)
        if text == NULL:
            raise MemoryError("no memory for an evaluation")
        super().__init__(json.loads(string(text)))
        lib.carom_py_free(text)
        self.system = system
        self._c = c

        def part(horizon: Any, values: Any) -> Array:
            return view(c, values, (horizon.count, horizon.states, *system.state_shape))

        e, k = c.extended, c.chunk
        self.x, self.v = part(e, e.x), part(e, e.v)
        self.true_x, self.true_v = part(e, e.true_x), part(e, e.true_v)
        self.chunk_x, self.chunk_v = part(k, k.x), part(k, k.v)
        self.data_x, self.data_v = part(k, k.true_x), part(k, k.true_v)
        self.report = report_of(c.report)

    def __repr__(self) -> str:
        lines = [f"Evaluation of {self.system.name}"]
        for name, words in (("chunk", "along the chunks"), ("extended", "over longer motions")):
            part = self.get(name) or {}
            found = part.get("relative_error")
            if found:
                lines.append(f"  relative error {words}: {found['mean']:.3g} +- {found['half_width_95']:.2g} "
                             f"({found['count']} of {part['states']} states)")
        return "\n".join([*lines, f"  by name: {', '.join(self)}"])

    @property
    def error(self) -> float:
        """The relative error along the chunks: the paper's trajectory error."""
        return self._c.chunk.relative.mean

    def write(self, path: Any) -> None:
        """A file with the arrays, for plotting and `carom view`."""
        with file_lock():
            check(lib.carom_evaluation_write(self._c, self.system._c, path_bytes(path), error()))


class Epoch(NamedTuple):
    """What an epoch gave."""
    epoch: int
    loss: float
    validation_loss: float
    best: bool
    learning_rate: float
    gradient_norm: float
    moves: int
    search_loss_before: float
    search_loss_after: float
    seconds: float
    report: Report
    properties: Dict[str, float]


class Move(NamedTuple):
    """A friction or restitution that a search moved."""
    name: str
    start: float
    to: float
    chunks: int
    loss_before: float
    loss_after: float


class WarmStart(NamedTuple):
    """What was solved for before descent: see `Trainer.warm_start`."""
    done: bool
    kept: bool
    loss_before: float
    loss_after: float
    validation_before: float
    validation_after: float
    pairs: int
    unknowns: int
    chunks: int
    properties: int
    seconds: float


class Trainer:
    """A training: the model, the optimiser's state, the order of the chunks.

    `options` are `carom.trainer_options()`: epochs, batch, learning_rate, schedule, seed, ...
    `fit` does all of it in one call.
    """

    def __init__(self, model: Model, data: Any, *, progress: Optional[Callable[[int, int], Any]] = None,
                 **options: Any):
        self.model = model
        self.data = dataset_of(model.system, data)
        self._watch = Watch(progress)
        self._chosen = ffi.new("carom_trainer_options *", lib.carom_trainer_default_options())
        set_options(lib.CAROM_TRAINER_OPTIONS, self._chosen, options)
        self._watch.attach(self._chosen)
        if model._model is None:
            model._create(self.data)
        made = ffi.new("carom_trainer **")
        check(lib.carom_trainer_create(model._c, self.data._c, self._chosen, made, error()))
        self._c = owned(made[0], lib.carom_trainer_destroy, model._c, self.data, self._watch.struct)
        self._callback: Optional[Callable[[Epoch], Any]] = None
        self._after: List[Callable[[Any], None]] = []

    @property
    def options(self) -> Dict[str, Any]:
        return get_options(lib.CAROM_TRAINER_OPTIONS, self._chosen)

    @property
    def epochs_done(self) -> int:
        return lib.carom_trainer_describe(self._c).epochs_done

    @property
    def best_epoch(self) -> int:
        return lib.carom_trainer_describe(self._c).best_epoch

    @property
    def best_loss(self) -> float:
        return lib.carom_trainer_describe(self._c).best_loss

    def _epoch_of(self, result: Any) -> Epoch:
        numbers = [getattr(result, name) for name in Epoch._fields[:-2]]
        return Epoch._make([*numbers, report_of(result.report), self.model.properties()])

    def _on_epoch(self, result: Any) -> Any:
        for step in self._after:
            step(result)
        if self._callback is None:
            return True
        return self._callback(self._epoch_of(result))

    def epoch(self) -> Epoch:
        """One pass over the training chunks."""
        result = ffi.new("carom_epoch *")
        with self.model._lock:
            self._watch.check(lib.carom_trainer_epoch(self._c, result, error()))
        return self._epoch_of(result)

    def step(self, indices: Any) -> float:
        """One optimiser step on chosen training chunks; its loss."""
        indices = np.ascontiguousarray(indices, np.intc)
        count = self.data.train.x.shape[0]
        if indices.ndim != 1 or np.any(indices < 0) or np.any(indices >= count):
            raise IndexError(f"indices must be between 0 and {count - 1}")
        loss = ffi.new("double *")
        with self.model._lock:
            check(lib.carom_trainer_step(self._c, len(indices), ffi.from_buffer("int[]", indices), loss,
                                         error()))
        return loss[0]

    def warm_start(self) -> WarmStart:
        """Solves for what is nearly linear, unless that has been done: the potential's last layer and masses
        from steps without a contact, then masses, frictions and restitutions from chunks with one. Kept if
        forces explain the steps without a contact and the losses of training and validation chunks fall.
        `run` begins with it unless `warm_start=False`."""
        result = ffi.new("carom_warm_start *")
        with self.model._lock:
            self._watch.check(lib.carom_trainer_warm_start(self._c, result, error()))
        return WarmStart._make([getattr(result, name) for name in WarmStart._fields])

    def run(self, callback: Optional[Callable[[Epoch], Any]] = None) -> bool:
        """The warm start and all epochs that are left; False if the callback ended it by returning False."""
        self._callback = callback
        self._watch.state.epoch = self._on_epoch
        try:
            with self.model._lock:
                status = lib.carom_trainer_run(self._c, lib.carom_py_epoch, self._watch.handle, error())
        finally:
            self._callback = self._watch.state.epoch = None
        return self._watch.check(status)

    @property
    def moves(self) -> List[Move]:
        """Frictions and restitutions that the last search moved."""
        count = ffi.new("int *")
        found = lib.carom_trainer_moves(self._c, count)
        return [Move(string(m.name), getattr(m, "from"), m.to, m.chunks, m.loss_before, m.loss_after)
                for m in (found[k] for k in range(count[0]))]

    def save(self, path: Any) -> None:
        """Saves the training with its model."""
        with file_lock():
            check(lib.carom_trainer_save(self._c, path_bytes(path), error()))

    def restore(self, path: Any) -> None:
        """Goes on with a saved training of the same scene, options and data: the same bits as never
        having stopped."""
        with file_lock():
            check(lib.carom_trainer_restore(self._c, path_bytes(path), error()))


class History(List[Epoch]):
    """The epochs of a training; `history["loss"]` is the column of all of them. A warm start that is good enough
    (`tolerance`) leaves nothing to do for epochs."""
    stopped = False
    warm_start: Optional[WarmStart] = None

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return super().__getitem__(key)
        if key in Epoch._fields:
            return np.array([getattr(epoch, key) for epoch in self])
        return np.array([epoch.properties[key] for epoch in self])

    def __repr__(self) -> str:
        if not self:
            return "History of no epochs"
        return f"History of {len(self)} epochs, loss {self[0].loss:.4g} -> {self[-1].loss:.4g}"


def fit(model: Model, data: Any, epochs: int = 300, *, callback: Optional[Callable[[Epoch], Any]] = None,
        folder: Any = None, resume: bool = False, progress: Optional[bool] = None,
        **options: Any) -> History:
    """Trains a model.

    data      a `Dataset`, a `Trajectory`, arrays (x, v), or a path
    callback  called with each `Epoch`; False stops
    folder    a run folder as `carom train` writes it: config.json, data.h5, best.h5, last.h5,
              metrics.csv. `carom.load_run` and every command of the program read it
    resume    go on with the training in `folder`
    progress  a bar (tqdm, if there is one); None: in terminals and notebooks
    options   `carom.trainer_options()`: batch, learning_rate, schedule, seed, ...

    KeyboardInterrupt and exceptions of the callback stop it between two batches and come through; the
    model has then learned what it has learned, and a folder can be resumed.

    >>> system = carom.System("bd1")
    >>> data = carom.Dataset.generate(system, train=8, validation=2, test=2)
    >>> model = carom.Model(system, hidden_size=8, seed=1)
    >>> history = carom.fit(model, data, epochs=2, batch=4)
    >>> len(history), history["loss"].shape
    (2, (2,))
    """
    data = dataset_of(model.system, data)
    trainer = Trainer(model, data, epochs=epochs, **options)
    history = History()
    bar = _bar(progress, epochs)
    run = _RunFolder(trainer, folder, resume) if folder is not None else None

    def after(epoch: Epoch) -> Any:
        history.append(epoch)
        if bar is not None:
            bar.set_postfix(loss=f"{epoch.loss:.3g}", validation=f"{epoch.validation_loss:.3g}")
            bar.update(epoch.epoch - bar.n)
        return None if callback is None else callback(epoch)

    try:
        if run is not None:
            run.begin()
        if trainer.options["warm_start"]:
            history.warm_start = trainer.warm_start()
            if run is not None:
                run.after_warm_start(history.warm_start)
        history.stopped = not trainer.run(after)
    finally:
        if run is not None:
            run.end()
        if bar is not None:
            bar.close()
    return history


def _bar(wanted: Optional[bool], total: int) -> Any:
    """A bar of tqdm, if there is one and somebody looks."""
    import sys
    if wanted is False:
        return None
    notebook = "ipykernel" in sys.modules
    if wanted is None and not (notebook or sys.stderr.isatty()):
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=total, unit="epoch")


class _RunFolder:
    """A run folder, written as `carom train` does."""

    def __init__(self, trainer: Trainer, folder: Any, resume: bool):
        self.trainer = trainer
        self.folder = pathlib.Path(folder)
        self.resume = resume
        self.metrics: Any = None
        self.properties = ffi.new("carom_properties *")
        self.locked: Any = None
        self.begun = False

    def begin(self) -> None:
        import fcntl
        config = self.folder / "config.json"
        if config.exists() and not self.resume:
            raise FileExistsError(f"{self.folder}: holds a run already; resume=True goes on with it, or "
                                  "take another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.locked = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(self.locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(f"{self.folder}: another process is training in this folder") from None
        trainer = self.trainer
        if self.resume:
            trainer.restore(self.folder / "last.h5")
        else:
            trainer.data.write(self.folder / "data.h5")
            trainer.save(self.folder / "last.h5")
            self._write_config(config)
        check(lib.carom_model_properties(trainer.model._c, self.properties, error()))
        metrics = ffi.new("metrics_file **")
        check(lib.metrics_open(path_bytes(self.folder), self.properties, trainer.epochs_done, metrics,
                               error()))
        self.metrics = metrics[0]
        self.begun = True
        trainer._after.append(self._after_epoch)

    def _write_config(self, path: pathlib.Path) -> None:
        trainer, system = self.trainer, self.trainer.model.system
        config = ffi.new("carom_run_config *")
        scene, data = ffi.new("char[]", system.json.encode()), ffi.new("char[]", b"data.h5")
        config.scene, config.data = scene, data
        config.model = trainer.model._chosen[0]
        config.train = trainer._chosen[0]
        config.dataset = lib.carom_dataset_default_options(system._c)
        config.dataset.chunk = trainer.data.train.x.shape[1]
        check(lib.carom_run_config_write(config, path_bytes(path), error()))

    def after_warm_start(self, warm: WarmStart) -> None:
        if warm.kept and self.trainer.epochs_done == 0:
            self.trainer.save(self.folder / "best.h5")
        self.trainer.save(self.folder / "last.h5")

    def _after_epoch(self, result: Any) -> None:
        theta = self.trainer.model.theta().array
        check(lib.metrics_add(self.metrics, result, pointer(theta), error()))
        if result.best:
            self.trainer.save(self.folder / "best.h5")
        self.trainer.save(self.folder / "last.h5")

    def end(self) -> None:
        if self.begun:
            self.trainer.save(self.folder / "last.h5")
            lib.metrics_close(self.metrics)
        lib.carom_properties_free(self.properties)
        if self.locked is not None:
            os.close(self.locked)
