"""Shows that a test citing each rule fails when the rule is broken.

`python -m tests.mutants.run` puts one fault after the other into a copy of the tree and runs the tests named for it
there; `--write` writes docs/rules-tests.md instead. Fails where a fault is not noticed. Words after it choose rules.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.mutants.table import ROOT, Mutant, mutants
from tests.mutants.write import PAGE, page

SECONDS = 120  # for the tests of one fault: one that makes a test wait for ever is noticed too
_PASSED, _FAILED = 0, 1  # exit codes of pytest; the others say that tests could not be run at all


def main() -> int:
    """Run the table, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", help="run these rules only, such as P7 D9")
    parser.add_argument("--write", action="store_true", help="write docs/rules-tests.md and run nothing")
    given = parser.parse_args()
    if given.write:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    chosen = [mutant for mutant in mutants() if not given.rules or mutant.rule in given.rules]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        return run(chosen, Path(folder))


def run(chosen: Iterable[Mutant], folder: Path) -> int:
    """Copy the tree, run every test without a fault, then each fault with its tests; return the exit code."""
    chosen = list(chosen)
    copy_tree(folder)
    check_imports(folder, chosen)
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    if pytest(folder, tests) != _PASSED:
        print("the tests named in the table fail without any fault, or are not there")
        return 1
    survivors = 0
    for mutant in chosen:
        for test, killed in outcomes(folder, mutant):
            survivors += not killed
            print(f"{mutant.rule:4} {'killed' if killed else 'SURVIVED'}  {mutant.fault}  |  {test}", flush=True)
    print(f"{len(chosen)} faults, {survivors} unnoticed")
    return 1 if survivors else 0


def outcomes(folder: Path, mutant: Mutant) -> list[tuple[str, bool]]:
    """Put a fault into the copy, run each of its tests, and mend it again."""
    path = folder / mutant.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(mutant.applied(sound), encoding="utf-8")
    try:
        compile(path.read_text(encoding="utf-8"), str(path), "exec") if path.suffix == ".py" else None
        return [(test, pytest(folder, [test]) == _FAILED) for test in mutant.tests]
    finally:
        path.write_text(sound, encoding="utf-8")


def copy_tree(folder: Path) -> None:
    """Copy what git tracks, as it stands now."""
    git = shutil.which("git") or "git"
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def check_imports(folder: Path, chosen: Iterable[Mutant]) -> None:
    """Make sure that the copy is what the tests import, not the tree it was made from. Raises RuntimeError."""
    modules = sorted({mutant.file.removesuffix(".py").replace("/", ".") for mutant in chosen})
    code = "import importlib, sys\nfor name in sys.argv[1:]: print(importlib.import_module(name).__file__)"
    command = [sys.executable, "-c", code, *modules]
    done = subprocess.run(command, cwd=folder, env=environment(folder), capture_output=True, check=True, text=True)
    strange = [path for path in done.stdout.split("\n") if path and not Path(path).is_relative_to(folder.resolve())]
    if strange:
        raise RuntimeError(f"not from the copy: {strange}")


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which modules come from the copy, and nothing that was compiled before counts."""
    return {**os.environ, "PYTHONPATH": str(folder.resolve()), "PYTHONDONTWRITEBYTECODE": "1"}


def pytest(folder: Path, tests: list[str]) -> int:
    """Run tests in the copy; return pytest's exit code, that of failing tests when they take too long."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--no-header", *tests]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment(folder), capture_output=True, check=False, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return _FAILED
    if done.returncode not in (_PASSED, _FAILED):
        print(done.stdout, done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
