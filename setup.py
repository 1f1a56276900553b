"""Compile the kernels. Everything else about the project is in pyproject.toml.

Environment variables
---------------------
ENSEMBLE_SIMPLIFY_DEBUG_CYTHON=1
    Build the kernels with bounds, wraparound and initialisation checks, for
    running the tests; slow.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("ensemble_simplify")
DEBUG = os.environ.get("ENSEMBLE_SIMPLIFY_DEBUG_CYTHON", "0") not in ("", "0")

# The one place where Cython directives are set.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "nonecheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}

MISSING_COMPILER = """
ensemble_simplify could not be built: its kernels need a C++ compiler, and
{command} failed.

Install one and run pip again:
    Debian, Ubuntu   apt-get install g++ python3-dev
    Fedora           dnf install gcc-c++ python3-devel
    macOS            xcode-select --install
    Windows          "Desktop development with C++" of the Visual Studio Build Tools
"""


class BuildKernels(build_ext):
    """build_ext that says what to install when no compiler answers."""

    def build_extensions(self):
        from setuptools.errors import CompileError, PlatformError

        try:
            super().build_extensions()
        except (CompileError, PlatformError, FileNotFoundError):
            command = " ".join(getattr(self.compiler, "compiler_cxx", None) or ["the compiler"])
            print(MISSING_COMPILER.format(command=command), file=sys.stderr)
            raise


def kernels():
    """One extension per .pyx file; none are cythonized for a source archive."""
    if "sdist" in sys.argv:
        return []
    from Cython.Build import cythonize

    msvc = sys.platform == "win32"
    # -ffp-contract=off: votes must be added with the roundings the ensemble itself makes.
    flags = ["/O2", "/std:c++17"] if msvc else ["-O3", "-std=c++17", "-ffp-contract=off"]
    extensions = [
        Extension(
            f"ensemble_simplify.{path.stem}",
            [path.as_posix()],
            language="c++",
            extra_compile_args=flags,
        )
        for path in sorted(PACKAGE.glob("*.pyx"))
    ]
    return cythonize(extensions, compiler_directives=DIRECTIVES, nthreads=0, force=DEBUG)


setup(ext_modules=kernels(), cmdclass={"build_ext": BuildKernels})
