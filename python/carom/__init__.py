"""carom: a differentiable simulator of rigid bodies with contacts that learns from trajectories.

>>> system = carom.System("cp3")                 # built-in, path, dict, or JSON text
>>> x0, v0 = system.sample(64, seed=1)           # [64, points, dimension]
>>> traj = system.rollout(x0, v0, steps=100)     # traj.x, .v, .t, .contact, .report
>>> grads = traj.vjp(x_bar=np.ones_like(traj.x))
>>> grads.theta["friction"].shape == system.parameters()["friction"].shape
True

`carom.torch` has the same for autograd; `carom.Model`, `carom.fit` and `carom.load_run` learn.
"""
from typing import Any

from ._carom import ffi as _ffi, lib as _lib
from .cone import ConeGradients, ConeInfo, ConeSolution, cone_program, cone_solve
from .data import Chunks, Dataset, Finding
from .errors import (CaromError, CaromWarning, DataError, FileError, NumericalError, PlanError,
                     SceneError, StateError)
from .files import from_pandas, from_xarray, load, save
from .identification import Channel, Estimate, Identification, Misfit, Prediction, identify
from .learn import (Epoch, Evaluation, History, Model, Move, Trainer, WarmStart, fit, models)
from .notebook import view
from .options import (Option, dataset_options, evaluation_options, identification_options, model_options,
                      rollout_options, trainer_options)
from .potential import Potential
from .plan import Plan, PlanLoss, PlanResult, Unknown, plans
from .pose import Pose
from .rollout import Gradients, Impact, Report, Trajectory
from .run import Run, load_run
from .system import Contact, Control, Energy, Parameters, System, scenes

__version__ = _ffi.string(_lib.carom_version()).decode()


def __getattr__(name: str) -> Any:
    # torch is optional, and slow to import
    if name == "torch":
        import importlib
        return importlib.import_module(".torch", __name__)
    raise AttributeError(f"module 'carom' has no attribute {name!r}")
