"""Builds the extension of the Python package: the C library by CMake, the binding by cffi.

CAROM_BUILD_DIR names a folder in which CMake has built the library already; otherwise it is built below
build/python-library, for any processor of this kind.
"""
import os
import pathlib
import re
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext

root = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(root / "python"))


def build_library():
    """The folder with libcarom.a and cli/libcarom_cli.a."""
    given = os.environ.get("CAROM_BUILD_DIR")
    if given:
        return pathlib.Path(given).resolve()
    folder = root / "build" / "python-library"
    configure = ["cmake", "-S", str(root), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release",
                 "-DCAROM_TESTS=OFF", "-DCAROM_EXAMPLES=OFF"]
    build = ["cmake", "--build", str(folder), "--parallel", str(os.cpu_count() or 1),
             "--target", "carom_static", "carom_cli"]
    subprocess.run(configure, check=True)
    subprocess.run(build, check=True)
    return folder


class build_binding(build_ext):
    """The library first, for the extension links it."""

    def run(self):
        import build_binding as binding

        folder = build_library()
        for extension in self.extensions:
            binding.complete(extension, folder)
        super().run()


def version():
    header = (root / "include" / "carom" / "version.h").read_text()
    return re.search(r'#define CAROM_VERSION "([^"]+)"', header).group(1)


# what is compiled for one library is not taken for another
base = root / "build" / "python-objects" / pathlib.Path(os.environ.get("CAROM_BUILD_DIR", "own")).name
setup(version=version(), cffi_modules=["python/build_binding.py:builder"],
      cmdclass={"build_ext": build_binding},
      options={"bdist_wheel": {"py_limited_api": "cp39"}, "build": {"build_base": str(base)}})
