"""Sandboxes without a cluster: programs are verified and replayed in a pod that this machine runs for the occasion.

async with local_pool() as (pool, pod):
    async with aclosing(judge_files(["games/maze.py"], pool, Task(Domain.GAMES), jobs=2)) as verdicts:
        async for judged in verdicts:
            print(judged.path, judged.verdict.accepted)
"""

from spade_sandbox.local.files import find_programs, read_program
from spade_sandbox.local.judging import Task, judge_file, judge_files
from spade_sandbox.local.launch import Backend, BackendUnusable
from spade_sandbox.local.pods import LocalPod, NoBackend, local_pod, local_pool
from spade_sandbox.local.records import Judged, json_record, write_parquet
from spade_sandbox.local.replaying import Replayed, differs, replay

__all__ = [
    "Backend",
    "BackendUnusable",
    "Judged",
    "LocalPod",
    "NoBackend",
    "Replayed",
    "Task",
    "differs",
    "find_programs",
    "json_record",
    "judge_file",
    "judge_files",
    "local_pod",
    "local_pool",
    "read_program",
    "replay",
    "write_parquet",
]
