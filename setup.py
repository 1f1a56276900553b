"""Compile the kernels. Everything else about the project is in pyproject.toml.

Environment variables
---------------------
ENSEMBLE_SIMPLIFY_DEBUG_CYTHON=1
    Build the kernels with checks of the bounds of arrays and vectors and of
    initialisation, for running the tests; slow. Switching it on or off rebuilds
    every kernel.
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, LinkError, PlatformError

PACKAGE = Path("ensemble_simplify")
DEBUG = os.environ.get("ENSEMBLE_SIMPLIFY_DEBUG_CYTHON", "0") not in ("", "0")

# The one place where Cython directives are set.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "wraparound": False,
    "initializedcheck": DEBUG,
    "cdivision": True,
    "embedsignature": True,
    "freethreading_compatible": True,
}

# -ffp-contract=off: votes must be added with the roundings the ensemble itself makes.
COMPILE_ARGS = (
    ["/O2", "/std:c++17"] if sys.platform == "win32" else ["-O3", "-std=c++17", "-ffp-contract=off"]
)
if DEBUG and sys.platform != "win32":
    # Last one wins: -O1 compiles faster. The macro has libstdc++ check the bounds of its vectors.
    COMPILE_ARGS += ["-O1", "-D_GLIBCXX_ASSERTIONS"]

NO_COMPILER = """ensemble_simplify could not be built: {command} failed.

Its kernels are compiled on your machine and need a C++17 compiler and the
headers of Python. Install them and run pip again:
    Debian, Ubuntu   apt-get install g++ python3-dev
    Fedora           dnf install gcc-c++ python3-devel
    macOS            xcode-select --install
    Windows          "Desktop development with C++" of the Visual Studio Build Tools
If a compiler is installed, its own message stands above."""


class BuildKernels(build_ext):
    """build_ext that translates the kernels itself and says what a missing compiler means.

    Generated C++ stays in the build directory, beside a note of the settings it
    was made with; under other settings everything is built anew.
    """

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extensions(self):
        import Cython
        from Cython.Build import cythonize

        build_temp = Path(self.build_temp)
        note = build_temp / "settings.txt"
        settings = repr((Cython.__version__, DIRECTIVES, COMPILE_ARGS))
        if not note.exists() or note.read_text(encoding="utf-8") != settings:
            self.force = True
            note.unlink(missing_ok=True)
        translated = cythonize(
            self.extensions,
            compiler_directives=DIRECTIVES,
            build_dir=str(build_temp / "cython"),
            force=bool(self.force),
        )
        by_name = {extension.name: extension for extension in translated}
        for extension in self.extensions:
            extension.sources = by_name[extension.name].sources
            extension.depends = by_name[extension.name].depends
        try:
            super().build_extensions()
        except (CompileError, LinkError, PlatformError, FileNotFoundError) as error:
            command = (getattr(self.compiler, "compiler_cxx", None) or ["the compiler"])[0]
            raise CompileError(NO_COMPILER.format(command=command)) from error
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(settings, encoding="utf-8")

    def copy_extensions_to_source(self):
        """Replace the modules in the source tree even where those look newer."""
        self.force = True
        super().copy_extensions_to_source()


setup(
    ext_modules=[
        Extension(
            ".".join(path.with_suffix("").parts),
            [path.as_posix()],
            language="c++",
            extra_compile_args=COMPILE_ARGS,
        )
        for path in sorted(PACKAGE.rglob("*.pyx"))
    ],
    cmdclass={"build_ext": BuildKernels},
)
