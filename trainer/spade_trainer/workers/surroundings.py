"""What a worker's container gives it: its task, its index, its tokens, and where it leaves its last words."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from spade_contracts.errors import InvalidInput
from spade_contracts.ports import WORKER_STATUS
from spade_contracts.tasks import DESIGNER_KEY, HINTS_KEY, JUDGE_KEY, TASK_PATH, TOKENS_PATH, Task
from spade_contracts.tokens import Door

TERMINATION_LOG = "/dev/termination-log"
MAX_TERMINATION_BYTES = 4096
TASK: TypeAdapter[Task] = TypeAdapter(Task)
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Surroundings:
    """Paths and numbers from the command line and the environment."""

    task: Path = Path(TASK_PATH)
    tokens: Path = Path(TOKENS_PATH)
    """Folder with one file per door."""
    termination_log: Path = Path(TERMINATION_LOG)
    index: int = 0
    """Which worker of the Job this is."""
    status_port: int = WORKER_STATUS
    judge_key: str | None = field(default=None, repr=False)
    """Key of the model judge's endpoint, if it wants one."""
    designer_key: str | None = field(default=None, repr=False)
    """Key of the endpoint that designs, if it wants one."""
    hints_key: str | None = field(default=None, repr=False)
    """Key of the endpoint that writes hints, if it wants one."""


def from_environment(environment: Mapping[str, str] = os.environ) -> Surroundings:
    """The container's values; what Kubernetes does not set has the contract's default."""
    return Surroundings(
        termination_log=Path(environment.get("SPADE_TERMINATION_LOG", TERMINATION_LOG)),
        index=int(environment.get("JOB_COMPLETION_INDEX", "0")),
        judge_key=environment.get(JUDGE_KEY),
        designer_key=environment.get(DESIGNER_KEY),
        hints_key=environment.get(HINTS_KEY),
    )


def read_task(path: Path) -> Task:
    """The task in a file. Raises InvalidInput if there is none or it is none of ours."""
    try:
        return TASK.validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidInput(str(path), f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def read_token(folder: Path, door: Door) -> str:
    """The token that opens a door. Raises InvalidInput if it is not mounted."""
    try:
        return (folder / door.value).read_text().strip()
    except OSError as error:
        raise InvalidInput(str(folder / door.value), f"the token is not mounted: {error}") from error


def leave_message(path: Path, summary: BaseModel) -> None:
    """Write the termination message: the summary as JSON, at most 4 KB; a folder that refuses it is no failure."""
    content = summary.model_dump_json().encode()
    if len(content) > MAX_TERMINATION_BYTES:
        raise InvalidInput(str(path), f"the summary has {len(content)} bytes; Kubernetes keeps {MAX_TERMINATION_BYTES}")
    try:
        path.write_bytes(content)
    except OSError:
        return
