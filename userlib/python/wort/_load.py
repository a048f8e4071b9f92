# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""What to do if the extension cannot be loaded."""
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def how_to_build() -> str:
    """A command that makes the extension for this Python."""
    top = HERE.parent.parent.parent
    if (top / "userlib" / "python" / "setup.py").exists():
        return f"make -C {top} python PYTHON={sys.executable}"
    return "apt-get install python3-wort, or pip install userlib/python " \
           "in a checkout of wort"


def what_is_missing(text: str, built: list[str]) -> str:
    """One line for an ImportError; @built: files of extensions that are there."""
    if "libwort.so" in text:
        return f"{text}: apt-get install libwort0, or name its folder in " \
               "LD_LIBRARY_PATH"
    if not built:
        return f"the extension of wort is not built: {how_to_build()}"
    if "_wort" in text and "No module" in text or "cannot import" in text:
        tag = sys.implementation.cache_tag
        return f"the extension of wort is built for another Python than " \
               f"{tag} ({', '.join(built)}): {how_to_build()}"
    return f"{text}: {how_to_build()}"


def load() -> None:
    """Import the extension, or say in one line what is missing."""
    try:
        importlib.import_module("wort._wort")
    except ImportError as err:
        built = sorted(path.name for path in HERE.glob("_wort*.so"))
        raise ImportError(what_is_missing(str(err), built),
                          name="wort._wort") from None
