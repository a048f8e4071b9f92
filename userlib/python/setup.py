# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The extension, which pyproject.toml cannot describe, and the libwort in it.

WORT_LINK names what to link with.  Without it libwort is built from this checkout and
becomes a part of the extension, which then needs nothing else.
"""
import os
import pathlib
import subprocess
import sys
import sysconfig

try:
    from setuptools import Extension, setup
except ImportError:
    sys.exit(f"setuptools is missing: apt-get install python3-setuptools, or "
             f"{sys.executable} -m pip install setuptools")

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
INCLUDE = [TOP / "userlib" / "include", TOP / "uapi"]
HEADERS = [*(HERE / "src").glob("*.h"), *INCLUDE[0].glob("*.h"),
           *INCLUDE[1].glob("linux/*.h")]


def verify():
    """What is needed beside a compiler is there."""
    headers = pathlib.Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        sys.exit(f"{headers}/Python.h is missing: apt-get install python3-dev")
    if not (INCLUDE[0] / "wort.h").exists():
        sys.exit(f"{TOP} is no checkout of wort: pip install its userlib/python")


def libwort():
    """Arguments of the linker."""
    if "WORT_LINK" in os.environ:
        return os.environ["WORT_LINK"].split()
    out = TOP / "build" / "userlib"
    archive = out / "libwort.a"
    subprocess.run(["make", "-s", "-C", TOP / "userlib", f"O={out}", archive],
                   check=True)
    return [str(archive), "-Wl,--exclude-libs,ALL"]


verify()
setup(ext_modules=[Extension(
    "wort._wort", sorted(str(path.relative_to(HERE))
                         for path in (HERE / "src").glob("*.c")),
    include_dirs=[str(path) for path in INCLUDE],
    depends=[str(path) for path in HEADERS],
    extra_compile_args=["-std=gnu11", "-Wall", "-Wextra", "-Wno-unused-parameter",
                        "-Wno-missing-field-initializers",
                        "-Wno-cast-function-type", "-fvisibility=hidden"],
    extra_link_args=libwort())])
