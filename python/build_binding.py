"""The binding: declarations of include/carom/*.h, read as they stand there, for cffi.

Nothing is listed by hand: a function that is added to a public header is there in Python, and cffi lets
the C compiler check every type and every struct when the extension is built.
"""
import pathlib
import re
import shlex
import subprocess

import cffi

root = pathlib.Path(__file__).resolve().parent.parent
headers = root / "include"

# Python functions that C calls: cffi defines them, carom/_engine.py fills them
callbacks = """
extern "Python" {
  bool carom_py_poll(void *user, int64_t done, int64_t total);
  bool carom_py_epoch(void *user, const carom_epoch *result);
  bool carom_py_plan(void *user, const carom_plan_progress *progress);
  carom_status carom_py_gradient(void *user, int count, const double *x, double *gradient,
                                 carom_error *error);
  carom_status carom_py_gradient_vjp(void *user, int count, const double *x, const double *gradient_bar,
                                     double *x_bar, double *parameters_bar, carom_error *error);
}
"""


def headers_in_order(path, seen):
    """A header's text behind that of those it includes, each once."""
    if path in seen:
        return ""
    seen.add(path)
    text = path.read_text()
    before = "".join(headers_in_order((path.parent / name).resolve(), seen)
                     for name in re.findall(r'#include "([^"]+)"', text))
    return before + declarations(text)


def declarations(text):
    """What cffi's parser takes of a header: no directives, no marks of functions."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^[ \t]*#(?:[^\\\n]|\\\n|\\.)*$", "", text, flags=re.M)
    text = re.sub(r'extern "C" \{|^\}$', "", text, flags=re.M)
    return re.sub(r"CAROM_API|CAROM_FORMAT\([^)]*\)", "", text)


def make_builder():
    made = cffi.FFI()
    made.cdef(headers_in_order((headers / "carom.h").resolve(), set()))
    made.cdef(declarations((root / "python" / "shim.h").read_text()))
    made.cdef(callbacks)
    made.set_source(
        "carom._carom",
        '#include "carom.h"\n#include "python/shim.c"\n',
        py_limited_api=True, include_dirs=[str(headers), str(root)],
        extra_compile_args=["-std=gnu17", "-O2"])
    return made


def complete(extension, folder):
    """Lets an extension link the library that CMake has built in `folder`."""
    libraries = subprocess.run(["pkg-config", "--libs", "jansson", "openblas", "zlib"], check=True,
                               capture_output=True, text=True).stdout
    hdf5 = next(name for name in ("hdf5", "hdf5-serial")
                if subprocess.run(["pkg-config", "--exists", name]).returncode == 0)
    libraries += subprocess.run(["pkg-config", "--libs", hdf5], check=True, capture_output=True,
                                text=True).stdout
    archives = [folder / "cli" / "libcarom_cli.a", folder / "libcarom.a"]
    extension.extra_objects = [str(archive) for archive in archives]
    extension.depends = [str(archive) for archive in archives]
    extension.extra_link_args = shlex.split(libraries) + ["-lgomp", "-lm"]


builder = make_builder()
