"""The back-end docker from its command line to a verdict, with a stand-in that runs the container's command itself."""

import json
import sys
from pathlib import Path

import pytest
from tests.component.local.conftest import PROGRAMS
from tests.support.sandbox_pods import find_runsc

from spade_contracts.config import SandboxLimits
from spade_sandbox.local import Backend, NoBackend, local_pod, local_pool

SOURCE = (PROGRAMS / "good" / "number_search.py").read_text()
LIMITS = SandboxLimits(load_seconds=60, step_seconds=60)
STAND_IN = """#!{python}
import json, os, sys
sys.path[:0] = {path}
from pathlib import Path
from spade_sandbox.local import runsc

folder, words = Path({folder!r}), sys.argv[1:]
with (folder / "words").open("a") as notes:
    notes.write(json.dumps(words) + "\\n")
if words[0] == "info":
    print('{{"runc": {{}}, "runsc": {{}}}}')
elif words[:2] == ["image", "inspect"]:
    print("sha256:0")
elif words[0] == "run":
    given = [words[i + 1] for i, word in enumerate(words) if word == "--env"]
    environment = {{name: os.environ[name] for name in given}}
    if {gvisor}:
        root = folder / "root"
        root.mkdir()
        bundle = runsc.bundle(root, environment["SPADE_SANDBOX_TOKEN"], int(environment["SPADE_SANDBOX_CAPACITY"]))
        (folder / "config.json").write_text(json.dumps(bundle))
        flags = ["--root", str(folder / "state"), "--network=none", "--ignore-cgroups"]
        os.execv({runsc!r}, ["runsc", *flags, "run", "--bundle", str(folder), folder.name])
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    os.execve(sys.executable, [sys.executable, *words[words.index("-m") :]], environment)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a docker in PATH that runs in gVisor, or not."""

    def install(*, gvisor: bool) -> Path:
        program = tmp_path / "docker"
        text = STAND_IN.format(
            python=sys.executable, path=sys.path, folder=str(tmp_path), gvisor=gvisor, runsc=str(find_runsc())
        )
        program.write_text(text)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return tmp_path

    return install


def words_of(folder: Path, verb: str) -> list[list[str]]:
    said = [json.loads(line) for line in (folder / "words").read_text().splitlines()]
    return [words for words in said if words[0] == verb]


async def test_docker_is_the_first_choice_and_its_container_is_removed_by_name(stand_in) -> None:
    folder = stand_in(gvisor=True)
    async with local_pool(capacity=2) as (pool, pod):
        assert pod.backend is Backend.DOCKER
        assert pod.report is not None
        assert pod.report.gvisor
        async with pool.session(SOURCE, LIMITS, max_turns=5) as session:
            assert "hidden" in await session.reset(1)
    (run,) = words_of(folder, "run")
    (remove,) = words_of(folder, "rm")
    assert remove[-1] == run[run.index("--name") + 1]


async def test_docker_whose_runtime_is_not_gvisor_is_refused(stand_in) -> None:
    folder = stand_in(gvisor=False)
    with pytest.raises(NoBackend, match="not gVisor"):
        async with local_pod(Backend.DOCKER, capacity=1):
            raise AssertionError("unreachable")
    assert len(words_of(folder, "rm")) == 1
