"""Names that annotations use."""
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    #: an array of any kind; of doubles unless its place says otherwise
    Array = NDArray[Any]
else:
    Array = np.ndarray
