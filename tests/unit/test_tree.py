"""The repository keeps its own rules: small modules, nothing of a machine in it, no reference that leads nowhere."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("contracts", "sandbox", "trainer", "operator", "cli")
MAX_MODULE_LINES = 400
MAX_FILE_BYTES = 8 * 2**20
# Written so that this file does not match itself.
FOREIGN = re.compile(
    r"(^|[^\w.])/(wor[k]|far[m])/|/roo[t]/|pyp[i]\.org|pythonh[o]sted|npmj[s]\.(org|com)|proxy\.g[o]lang|crat[e]s\.io",
    re.MULTILINE,
)
UNFINISHED = re.compile(r"\b(TO[D]O|FIX[M]E|XX[X])\b")


@cache
def files() -> tuple[Path, ...]:
    """Every file that git tracks, or would offer to track."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return tuple(file for name in sorted(set(listed.split("\0"))) if name and (file := ROOT / name).is_file())


@cache
def texts() -> dict[str, str]:
    """Text of every file that is text, by path below the root."""
    found = {}
    for file in files():
        content = file.read_bytes()
        if b"\0" not in content[:8192]:
            found[str(file.relative_to(ROOT))] = content.decode()
    return found


def pages() -> dict[str, str]:
    return {name: text for name, text in texts().items() if name.endswith(".md")}


def matches(pattern: re.Pattern[str]) -> list[str]:
    return [f"{name}: {found.group()!r}" for name, text in texts().items() for found in pattern.finditer(text)]


@pytest.mark.parametrize(
    "words",
    ["ruff check", "ruff format --check", "lint-imports", "python tools/generate_benchmarks.py --check"],
)
def test_style_import_rules_and_generated_pages_are_as_they_should_be(words: str):
    program, *arguments = words.split()
    command = [Path(sys.executable).parent / program, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_module_has_more_than_400_lines():
    lines = {name: text.count("\n") for name, text in texts().items() if name.endswith(".py")}
    assert {name: number for name, number in lines.items() if number > MAX_MODULE_LINES} == {}


def test_no_file_is_larger_than_the_tiny_model_may_be():
    assert [str(file) for file in files() if file.stat().st_size > MAX_FILE_BYTES] == []


def test_nothing_names_a_folder_of_one_machine_or_a_package_registry():
    assert matches(FOREIGN) == []


def test_nothing_is_marked_as_unfinished():
    assert matches(UNFINISHED) == []


def test_no_folder_shadows_a_module_of_the_standard_library():
    assert [folder for folder in PACKAGES if (ROOT / folder / "__init__.py").exists()] == []


def test_a_package_that_gathers_names_says_which():
    # ruff holds the rest: __all__ is sorted and names only what is there.
    silent = []
    for name, text in texts().items():
        if name.endswith("/__init__.py") and not name.startswith("tools/"):
            body = ast.parse(text).body
            gathers = any(isinstance(node, ast.Import | ast.ImportFrom) for node in body)
            says = any(isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__" for node in body)
            silent += [name] if gathers and not says else []
    assert silent == []


def test_every_page_that_a_text_points_to_is_there():
    missing = []
    for name, text in texts().items():
        for found in re.finditer(r"\bdocs/[\w/.-]*\w\.md\b", text):
            if not (ROOT / found.group()).is_file():
                missing.append(f"{name}: {found.group()}")
    assert missing == []


def test_every_link_of_a_page_leads_to_a_file():
    missing = []
    for name, text in pages().items():
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            if "://" not in target and not (ROOT / name).parent.joinpath(target).exists():
                missing.append(f"{name}: {target}")
    assert missing == []


def test_every_page_is_linked_from_the_readme_or_from_a_page():
    linked = set()
    for name, text in pages().items():
        linked |= {(ROOT / name).parent.joinpath(target).resolve() for target in re.findall(r"\]\(([^)#\s]+)", text)}
    assert [name for name in pages() if name.startswith("docs/") and ROOT / name not in linked] == []


@pytest.mark.parametrize(
    ("words", "exists"),
    [
        (r"make ((?:-s )?[a-z][a-z-]*)", lambda target: target.removeprefix("-s ") in targets()),
        (r"(cluster/[a-z]+)(?![\w/.])", lambda script: (ROOT / script).exists()),
        (r"python -m (tests\.[\w.]+|tools\.[\w.]+)", lambda module: is_module(module)),
        (r"python (tools/\w+\.py)", lambda script: (ROOT / script).is_file()),
        (r"((?:examples|tools|tests|templates|charts)/[\w/.-]*\w\.\w+)", lambda file: (ROOT / file).is_file()),
        (r"((?:contracts|sandbox|trainer|operator|cli)/spade_[\w/.-]*\w\.py)", lambda file: (ROOT / file).is_file()),
    ],
)
def test_every_command_and_file_that_a_page_names_exists(words, exists):
    missing = []
    for name, text in pages().items():
        pieces = re.findall(r"```\w*\n(.*?)```|`([^`\n]+)`", text, re.DOTALL)
        code = "\n".join(block or inline for block, inline in pieces)
        missing += [f"{name}: {found}" for found in re.findall(words, code) if not exists(found)]
    assert missing == []


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", texts()["Makefile"], re.MULTILINE))


def is_module(name: str) -> bool:
    path = ROOT / name.replace(".", "/")
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_make_help_explains_every_target_in_aligned_columns():
    described = re.findall(r"^([a-z][a-z-]*):.*?## (.+)$", texts()["Makefile"], re.MULTILINE)
    assert {name for name, _ in described} == targets()
    said = subprocess.run(["make", "-s", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    columns = {line.index(text) for name, text in described for line in said.splitlines() if line.split()[:1] == [name]}
    assert len(columns) == 1
