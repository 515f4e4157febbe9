"""Options by their names: what they mean, their ranges and defaults."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ._engine import NULL, _option_value, lib, string


class Option(NamedTuple):
    """An option; `default` is None where the scene gives it."""
    default: Any
    range: str
    help: str
    choices: Optional[Tuple[str, ...]]


def _table(of: int) -> Dict[str, Option]:
    found = {}
    for k in range(lib.carom_option_count(of)):
        info = lib.carom_option_describe(of, k)
        choices = None
        if info.names != NULL:
            listed: List[str] = []
            while info.names[len(listed)] != NULL:
                listed.append(string(info.names[len(listed)]))
            choices = tuple(listed)
        value = string(info.value)
        default = None if info.from_scene or not value else _option_value(info.kind, value)
        found[string(info.name).replace(".", "_")] = Option(default, string(info.range),
                                                            string(info.help), choices)
    return found


def rollout_options() -> Dict[str, Option]:
    """What `System.rollout` takes.

    >>> carom.rollout_options()["contact_time"].choices
    ('step', 'event')
    """
    return _table(lib.CAROM_ROLLOUT_OPTIONS)


def dataset_options() -> Dict[str, Option]:
    """What the makers of a `Dataset` take."""
    return _table(lib.CAROM_DATASET_OPTIONS)


def model_options() -> Dict[str, Option]:
    """What `Model` takes."""
    return _table(lib.CAROM_MODEL_OPTIONS)


def trainer_options() -> Dict[str, Option]:
    """What `Trainer` and `fit` take."""
    return _table(lib.CAROM_TRAINER_OPTIONS)


def evaluation_options() -> Dict[str, Option]:
    """What `Model.evaluate` takes."""
    return _table(lib.CAROM_EVALUATION_OPTIONS)


def identification_options() -> Dict[str, Option]:
    """What `identify` takes."""
    return _table(lib.CAROM_FIT_OPTIONS)
