"""Compile the kernels. Everything else about the project is in pyproject.toml.

Environment variables
---------------------
ENSEMBLE_SIMPLIFY_DEBUG_CYTHON=1
    Build the kernels with checks of the bounds of arrays and vectors and of
    initialisation, for running the tests; slow. Switching it on or off rebuilds
    every kernel.
ENSEMBLE_SIMPLIFY_BUILD_CACHE=directory
    Keep compiled kernels in this directory, and take from it those whose C++,
    headers, compiler and flags are the same, byte for byte. .ci/run builds a wheel
    and an editable install with one compilation this way. Never emptied.
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CompileError, LinkError, PlatformError

PACKAGE = Path("ensemble_simplify")
DEBUG = os.environ.get("ENSEMBLE_SIMPLIFY_DEBUG_CYTHON", "0") not in ("", "0")
CACHE = os.environ.get("ENSEMBLE_SIMPLIFY_BUILD_CACHE")

# Cython's own code for memoryviews, once: inside every kernel it takes longer to compile than most
# of them. It has no source here; Cython writes it.
SHARED = "ensemble_simplify._cyutility"

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
# -O1 and no debugging symbols (-g0) compile faster. The macro has libstdc++ check its vectors.
if sys.platform == "win32":
    COMPILE_ARGS, CXX_ARGS = ["/O2"], ["/std:c++17"]
else:
    COMPILE_ARGS, CXX_ARGS = ["-ffp-contract=off"], ["-std=c++17"]
    COMPILE_ARGS += ["-O1", "-D_GLIBCXX_ASSERTIONS"] if DEBUG else ["-O3", "-g0"]

NO_COMPILER = """ensemble_simplify could not be built: {command} failed.

Its kernels are compiled on your machine and need a C++17 compiler and the
headers of Python. Install them and run pip again:
    Debian, Ubuntu   apt-get install g++ python3-dev
    Fedora           dnf install gcc-c++ python3-devel
    macOS            xcode-select --install
    Windows          "Desktop development with C++" of the Visual Studio Build Tools
If a compiler is installed, its own message stands above."""


class SourceArchive(sdist):
    """sdist that writes the same bytes wherever SOURCE_DATE_EPOCH is the same."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        epoch = os.environ.get("SOURCE_DATE_EPOCH")
        if epoch is None or format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)

        def plain(entry):
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = int(epoch), 0, 0, "", ""
            entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
            return entry

        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=int(epoch)) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(base_dir, filter=plain)
        return path


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
        generated = build_temp / "cython"
        note = build_temp / "settings.txt"
        settings = repr((Cython.__version__, SHARED, DIRECTIVES, COMPILE_ARGS, CXX_ARGS))
        known = note.exists() and note.read_text(encoding="utf-8") == settings
        stale = generated.exists() and not known
        self.force = self.force or not known or bool(CACHE)
        note.unlink(missing_ok=True)
        translated = cythonize(
            self.extensions,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=SHARED,
            build_dir=str(generated),
            force=stale,
            cache=os.path.join(CACHE, "cython") if CACHE else False,
            # elsewhere its processes would read this file again
            nthreads=self.parallel if sys.platform == "linux" else 0,
        )
        by_name = {extension.name: extension for extension in translated}
        for extension in self.extensions:
            extension.sources = by_name[extension.name].sources
            extension.depends = by_name[extension.name].depends
        # The longest first, so that no processor waits for it at the end.
        self.extensions.sort(key=lambda extension: -Path(extension.sources[0]).stat().st_size)
        try:
            super().build_extensions()
        except (CompileError, LinkError, PlatformError, FileNotFoundError) as error:
            command = (getattr(self.compiler, "compiler_cxx", None) or ["the compiler"])[0]
            raise CompileError(NO_COMPILER.format(command=command)) from error
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(settings, encoding="utf-8")

    def build_extension(self, extension):
        """Compile a kernel, or take the one that the same source was compiled to before."""
        kept = self.cached(extension)
        if kept is None:
            super().build_extension(extension)
            return
        built = Path(self.get_ext_fullpath(extension.name))
        built.parent.mkdir(parents=True, exist_ok=True)
        if kept.exists():
            shutil.copyfile(kept, built)
            return
        super().build_extension(extension)
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_suffix(f".{os.getpid()}")
        shutil.copyfile(built, unfinished)
        unfinished.replace(kept)

    def cached(self, extension):
        """Where the cache keeps what this source is compiled to; None where there is no cache."""
        tools = ("compiler_so", "compiler_so_cxx", "linker_so", "linker_so_cxx")
        commands = [getattr(self.compiler, tool, None) for tool in tools]
        if not CACHE or not all(commands):
            return None
        versions = [
            subprocess.run([command[0], "--version"], capture_output=True, check=True).stdout
            for command in commands
        ]
        python = sys.version, sysconfig.get_config_var("EXT_SUFFIX")
        arguments = extension.extra_compile_args, extension.define_macros
        key = hashlib.sha256(repr((versions, commands, python, arguments)).encode())
        for path in [*extension.sources, *sorted(extension.depends)]:
            content = Path(path).read_bytes()
            key.update(f"{Path(path).name} {len(content)}\n".encode() + content)
        return Path(CACHE, "kernels", f"{extension.name}-{key.hexdigest()}")

    def copy_extensions_to_source(self):
        """Replace the modules in the source tree even where those look newer."""
        self.force = True
        super().copy_extensions_to_source()


if __name__ == "__main__":
    kernels = [
        Extension(
            ".".join(path.with_suffix("").parts),
            [path.as_posix()],
            language="c++",
            extra_compile_args=COMPILE_ARGS + CXX_ARGS,
        )
        for path in sorted(PACKAGE.rglob("*.pyx"))
    ]
    shared = Extension(SHARED, [SHARED.replace(".", "/") + ".c"], extra_compile_args=COMPILE_ARGS)
    setup(
        ext_modules=[*kernels, shared], cmdclass={"build_ext": BuildKernels, "sdist": SourceArchive}
    )
