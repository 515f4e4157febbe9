"""What can go wrong, as exceptions. Bad arguments are ValueError and TypeError, memory is MemoryError."""


class CaromError(Exception):
    """The base of carom's own exceptions."""


class SceneError(CaromError, ValueError):
    """A scene that is not well-formed, or not a possible system."""


class PlanError(CaromError, ValueError):
    """A plan that is not well-formed, or whose unknowns do not matter."""


class DataError(CaromError, ValueError):
    """Data of the wrong shape, with NaN, or with a part missing."""


class FileError(CaromError, OSError):
    """A file that cannot be opened, read or written."""


class NumericalError(CaromError, ArithmeticError):
    """A state or a loss that became non-finite, a matrix that is singular."""


class StateError(CaromError, RuntimeError):
    """A call that comes at the wrong time, like the derivative of a result without a tape."""


class CaromWarning(UserWarning):
    """A result that may not be what it seems: contact problems that were not solved, doubtful data."""


class _Interrupted(CaromError):
    """A callback stopped the call; carom itself catches it."""
