# the extension that cffi makes of the public headers; carom._engine and its neighbours give it types
from typing import Any

ffi: Any
lib: Any
