# Prints the address of the index that pip itself falls back to: first from a pip that Python can import, then from
# the copies of pip that distributions put beside Python for `venv`. Prints nothing where there is no pip.
import glob
import os
import sys


def ask():
    from pip._internal.models.index import PyPI

    return PyPI.simple_url


def wheels():
    try:
        import ensurepip

        yield os.path.join(os.path.dirname(ensurepip.__file__), "_bundled")
    except ImportError:
        pass
    yield "/usr/share/python-wheels"


def answer():
    try:
        return ask()
    except Exception:
        pass
    for directory in wheels():
        for wheel in sorted(glob.glob(os.path.join(directory, "pip-*.whl")), reverse=True):
            sys.path.insert(0, wheel)
            for name in [name for name in sys.modules if name.split(".")[0] == "pip"]:
                del sys.modules[name]
            try:
                return ask()
            except Exception:
                sys.path.pop(0)
    return ""


print(answer())
