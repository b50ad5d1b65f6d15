"""What a learner is started with: command line, task, tokens. No torch here."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from spade_contracts import ports
from spade_contracts.errors import InvalidInput
from spade_contracts.tasks import TASK_PATH, TOKENS_PATH, LearnerTask
from spade_contracts.tokens import Door


@dataclass(frozen=True)
class Settings:
    """Everything a rank needs that is not in run storage."""

    task: LearnerTask
    host: str
    """Address that rank 0's two ports are bound to."""
    control_port: int
    status_port: int
    engine_control_port: int
    engine_status_port: int
    collective_seconds: float
    """Deadline of one collective within a step."""
    command_seconds: float
    """How long a rank waits for rank 0's next command, which comes every second unless rank 0 is at work."""
    tokens: Path

    def learner_token_digest(self) -> str:
        """SHA-256 of the token that `PUT /target` wants. Raises InvalidInput if it is not mounted."""
        return _read(self.tokens / f"{Door.LEARNER_CONTROL}.sha256")

    def engine_token(self) -> str:
        """Token of the engines' control ports. Raises InvalidInput if it is not mounted."""
        return _read(self.tokens / Door.ENGINE_CONTROL)


def read_settings(arguments: Sequence[str]) -> Settings:
    """Parse the command line and read the task. Raises InvalidInput for a task that cannot be used."""
    given = parser().parse_args(arguments)
    return Settings(
        task=_read_task(given.task),
        host=given.host,
        control_port=given.control_port,
        status_port=given.status_port,
        engine_control_port=given.engine_control_port,
        engine_status_port=given.engine_status_port,
        collective_seconds=given.collective_seconds,
        command_seconds=given.command_seconds,
        tokens=given.tokens,
    )


def parser() -> argparse.ArgumentParser:
    """The command line, with the pod's layout as defaults."""
    result = argparse.ArgumentParser(prog="spade-learner", description="One node of a run's learner.")
    result.add_argument("--task", type=Path, default=Path(os.environ.get("SPADE_TASK", TASK_PATH)))
    result.add_argument("--tokens", type=Path, default=Path(os.environ.get("SPADE_TOKENS", TOKENS_PATH)))
    result.add_argument("--host", default="0.0.0.0")  # noqa: S104 - a pod's ports are its interface
    result.add_argument("--control-port", type=int, default=ports.LEARNER_CONTROL)
    result.add_argument("--status-port", type=int, default=ports.LEARNER_STATUS)
    result.add_argument("--engine-control-port", type=int, default=ports.ENGINE_CONTROL)
    result.add_argument("--engine-status-port", type=int, default=ports.ENGINE_STATUS)
    result.add_argument("--collective-seconds", type=float, default=1800.0)
    result.add_argument("--command-seconds", type=float, default=600.0)
    return result


def _read_task(path: Path) -> LearnerTask:
    try:
        return LearnerTask.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidInput(f"{path}.{'.'.join(map(str, first['loc']))}", str(first["msg"])) from error


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        raise InvalidInput(str(path), f"cannot be read: {error}") from error
