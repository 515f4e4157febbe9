"""Calls of the C library: errors as exceptions, arrays as pointers, options by their names."""
from __future__ import annotations

import os
import sys
import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

import numpy as np

from ._carom import ffi as ffi, lib as lib
from ._types import Array
from .errors import (DataError, FileError, NumericalError, PlanError, SceneError,
                     _Interrupted)

if lib.carom_version_number() // 100 != 1:
    raise ImportError(f"this package is for carom 0.1, the library is {lib.carom_version()}")

NULL = ffi.NULL

# ---- errors --------------------------------------------------------------------------------------

_exceptions = {
    lib.CAROM_INVALID_ARGUMENT: ValueError,
    lib.CAROM_INVALID_SCENE: SceneError,
    lib.CAROM_INVALID_DATA: DataError,
    lib.CAROM_INVALID_PLAN: PlanError,
    lib.CAROM_FILE_ERROR: FileError,
    lib.CAROM_OUT_OF_MEMORY: MemoryError,
    lib.CAROM_NUMERICAL_FAILURE: NumericalError,
    lib.CAROM_INTERRUPTED: _Interrupted,
}

text = ffi.string


def string(pointer: Any) -> str:
    """A C string."""
    return "" if pointer == NULL else ffi.string(pointer).decode("utf-8", "replace")


class _PerThread(threading.local):
    """What a call needs and every thread has for itself."""

    def __init__(self) -> None:
        self.error = ffi.new("carom_error *")


_mine = _PerThread()


def error() -> Any:
    """Where the next call of this thread puts its message."""
    return _mine.error


def check(status: int) -> None:
    """Raises what a call answered, with the engine's message."""
    if status != 0:
        raise _exceptions.get(status, RuntimeError)(string(_mine.error.message))


# ---- threads and processes -----------------------------------------------------------------------

_forked = False


def _after_fork() -> None:
    # the threads of the parent are not there, and OpenMP would wait for them
    global _forked
    _forked = True


os.register_at_fork(after_in_child=_after_fork)


def thread_limit(threads: int) -> int:
    """Threads that a call may use: one in a forked child. The result is the same."""
    return 1 if _forked else threads


class _NoLock:
    def __enter__(self) -> None: ...

    def __exit__(self, *details: object) -> None: ...


_no_lock = _NoLock()


def file_lock() -> Any:
    """Held around calls that use HDF5: h5py's own lock where h5py is there, for the C library under
    both is one and knows no threads."""
    h5py = sys.modules.get("h5py")
    objects = getattr(h5py, "_objects", None)
    return getattr(objects, "phil", _no_lock) if objects is not None else _no_lock


# ---- progress and interruption -------------------------------------------------------------------

_progress = ffi.addressof(lib, "carom_py_progress")


class Watch:
    """Lets a long call be interrupted, and tells how far it is.

    Python is asked every `interval` seconds: signals are handled then (Ctrl-C), and `callback(done,
    total)`, if there is one, may return False to stop.
    """

    def __init__(self, callback: Optional[Callable[[int, int], Any]] = None, interval: float = 0.05):
        self.state = _WatchState(callback)
        self.handle = ffi.new_handle(self.state)
        self.struct = ffi.new("carom_py_watch *", {"interval": interval, "user": self.handle})

    def attach(self, options: Any) -> None:
        options.progress = _progress
        options.progress_user = self.struct

    def check(self, status: int) -> bool:
        """As `check`, but what Python raised meanwhile comes first. False: the callback stopped it."""
        state = self.state
        exception, state.exception = state.exception, None
        stopped, state.stopped = state.stopped, False
        if exception is not None:
            try:
                raise exception
            finally:
                del exception  # its traceback has this frame: no cycle
        if status == lib.CAROM_INTERRUPTED and stopped:
            return False
        check(status)
        return True


class _WatchState:
    """What callbacks see of a Watch; it does not know the watch, so that no cycle holds memory."""
    __slots__ = ("callback", "epoch", "potential", "exception", "stopped")

    def __init__(self, callback: Optional[Callable[[int, int], Any]]):
        self.callback = callback
        self.epoch: Optional[Callable[[Any], Any]] = None
        self.potential: Any = None
        self.exception: Optional[BaseException] = None
        self.stopped = False


def _keep_exception(kind: Any, value: BaseException, trace: Any) -> None:
    """What a callback raised is raised again when the call is over; the callback answers its `error`."""
    frame = trace.tb_frame.f_locals if trace is not None else {}
    user = frame.get("user")
    if user is not None:
        ffi.from_handle(user).exception = value


@ffi.def_extern(onerror=_keep_exception, error=False)
def carom_py_poll(user: Any, done: int, total: int) -> bool:
    watch = ffi.from_handle(user)
    if watch.callback is not None and watch.callback(done, total) is False:
        watch.stopped = True
        return False
    return True


@ffi.def_extern(onerror=_keep_exception, error=False)
def carom_py_epoch(user: Any, result: Any) -> bool:
    watch = ffi.from_handle(user)
    if watch.epoch(result) is False:
        watch.stopped = True
        return False
    return True


@ffi.def_extern(onerror=_keep_exception, error=False)
def carom_py_plan(user: Any, progress: Any) -> bool:
    watch = ffi.from_handle(user)
    done = watch.callback
    return done is None or done(progress.done, progress.total, progress.loss, progress.best) is not False


@ffi.def_extern(onerror=_keep_exception, error=lib.CAROM_INTERRUPTED)
def carom_py_gradient(user: Any, count: int, x: Any, gradient: Any, error: Any) -> int:
    ffi.from_handle(user).potential.gradient(count, x, gradient)
    return lib.CAROM_OK


@ffi.def_extern(onerror=_keep_exception, error=lib.CAROM_INTERRUPTED)
def carom_py_gradient_vjp(user: Any, count: int, x: Any, g_bar: Any, x_bar: Any, parameters_bar: Any,
                          error: Any) -> int:
    ffi.from_handle(user).potential.gradient_vjp(count, x, g_bar, x_bar, parameters_bar)
    return lib.CAROM_OK


# ---- arrays --------------------------------------------------------------------------------------

_double = np.dtype(np.float64)


def numbers(values: Any, name: str) -> Array:
    """An array of doubles in C order: the given one if it is that already."""
    if type(values) is np.ndarray and values.dtype is _double and values.flags.c_contiguous:
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} has values of type {array.dtype}, must be real numbers")
    return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)


def shaped(values: Any, shape: Tuple[Any, ...], name: str) -> Array:
    """The same of a given shape."""
    array = numbers(values, name)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {list(array.shape)}, must be {list(shape)}")
    return array


def pointer(array: Optional[Array]) -> Any:
    """Where the doubles of an array are; NULL for none."""
    return NULL if array is None else ffi.from_buffer("double[]", array)


def view(owner: Any, address: Any, shape: Tuple[Any, ...], dtype: Any = np.float64,
         writable: bool = False) -> Array:
    """Memory of the library as an array, which keeps `owner` alive."""
    size = 8 if dtype is np.float64 else np.dtype(dtype).itemsize
    for length in shape:
        size *= length
    if size == 0:
        return np.zeros(shape, dtype)
    held = ffi.gc(ffi.cast(_char_pointer, address), _Hold(owner))
    array: Array = np.ndarray(shape, dtype, ffi.buffer(held, size))
    if not writable:
        array.flags.writeable = False
    return array


_char_pointer = ffi.typeof("char *")


class _Hold:
    """A destructor that does nothing but hold an object until then."""
    __slots__ = ("owner",)

    def __init__(self, owner: Any):
        self.owner = owner

    def __call__(self, address: Any) -> None:
        self.owner = None


def owned(address: Any, destroy: Any, *needs: Any) -> Any:
    """An object of the library that is destroyed with the result, before what it needs."""
    if not needs:
        return ffi.gc(address, destroy)
    return ffi.gc(address, lambda given, needs=needs: destroy(given))


def copied(address: Any, shape: Tuple[Any, ...], dtype: Any = np.float64) -> Array:
    """Memory of the library as an array of its own."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0 or address == NULL:
        return np.zeros(shape, dtype)
    return np.frombuffer(ffi.buffer(ffi.cast("char *", address), size), dtype).reshape(shape).copy()


def path_bytes(path: Any) -> bytes:
    encoded = os.fsencode(path)
    if b"\0" in encoded:
        raise ValueError("a path cannot have a NUL character")
    return encoded


# ---- options -------------------------------------------------------------------------------------

def option_text(value: Any) -> str:
    """A value as carom_option_set reads it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, str):
        return value
    raise TypeError(f"{value!r} is no value of an option")


def option_names(table: int) -> List[Any]:
    return [string(lib.carom_option_describe(table, k).name)
            for k in range(lib.carom_option_count(table))]


_names: Dict[Any, Any] = {}


def set_options(table: int, options: Any, given: Mapping[str, Any]) -> None:
    """Sets options by their names; `cone.tolerance` may be written cone_tolerance."""
    if table not in _names:
        _names[table] = {name.replace(".", "_"): name for name in option_names(table)}
    for name, value in given.items():
        known = _names[table].get(name.replace(".", "_").replace("-", "_"))
        if known is None:
            raise TypeError(f"there is no option {name!r}{_meant(name, _names[table])}; "
                            f"there are {', '.join(_names[table])}")
        status = lib.carom_option_set(table, options, known.encode(), option_text(value).encode(),
                                      error())
        check(status)


def _meant(name: str, names: Mapping[str, str]) -> str:
    texts = [ffi.new("char[]", known.encode()) for known in names]
    nearest = lib.carom_name_nearest(name.encode(), ffi.new("char *[]", texts + [NULL]))
    return f" (did you mean {string(nearest)!r}?)" if nearest != NULL else ""


def get_options(table: int, options: Any) -> Dict[Any, Any]:
    """All options by their names, as Python values."""
    found = {}
    for k in range(lib.carom_option_count(table)):
        info = lib.carom_option_describe(table, k)
        buffer = ffi.new("char[64]")
        check(lib.carom_option_get(table, options, info.name, buffer, 64, error()))
        found[string(info.name)] = _option_value(info.kind, string(buffer))
    return found


def _option_value(kind: int, value: str) -> Any:
    if kind in (lib.CAROM_OPTION_INTEGER, lib.CAROM_OPTION_COUNT, lib.CAROM_OPTION_SEED):
        return int(value)
    if kind == lib.CAROM_OPTION_NUMBER:
        return float(value)
    return value == "true" if kind == lib.CAROM_OPTION_SWITCH else value
