"""How nodes meet, what ranks inherit, and what a task that cannot be used says."""

import resource
from pathlib import Path

import pytest

from spade_contracts.errors import InvalidInput
from spade_contracts.tasks import LearnerTask, RunRef
from spade_trainer.learner import cpu_remedies
from spade_trainer.learner.main import check_locked_memory, main, meeting_of, prepare_environment
from spade_trainer.learner.settings import read_settings


def task(nodes: int) -> LearnerTask:
    run = RunRef(namespace="default", name="mini", uid="u", storage_uri="file:///storage")
    return LearnerTask(run=run, attempt=1, nodes=nodes, ranks_per_node=2)


def test_a_lone_node_meets_itself_without_any_name() -> None:
    assert meeting_of(task(1), {}).endpoint.startswith("127.0.0.1:")


@pytest.mark.parametrize("variable", ["SPADE_RENDEZVOUS_HOST", "MASTER_ADDR"])
def test_several_nodes_meet_at_the_first(variable: str) -> None:
    meeting = meeting_of(task(2), {variable: "learner-0.learner", "JOB_COMPLETION_INDEX": "1"})
    assert (meeting.backend, meeting.endpoint, meeting.node_rank) == ("static", "learner-0.learner:29500", 1)


@pytest.mark.parametrize("environment", [{}, {"MASTER_ADDR": "host"}, {"JOB_COMPLETION_INDEX": "0"}])
def test_several_nodes_that_cannot_meet_are_refused(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match="JOB_COMPLETION_INDEX"):
        meeting_of(task(2), environment)


def test_ranks_get_one_thread_unless_the_pod_says_otherwise() -> None:
    plain: dict[str, str] = {}
    prepare_environment(task(1), plain)
    assert plain["OMP_NUM_THREADS"] == "1"
    set_already = {"OMP_NUM_THREADS": "4"}
    prepare_environment(task(1), set_already)
    assert set_already["OMP_NUM_THREADS"] == "4"


def test_rdma_wants_memory_that_may_be_locked_without_a_limit() -> None:
    rdma = task(2).model_copy(update={"rdma": True})
    with pytest.raises(InvalidInput, match="LimitMEMLOCK=infinity"):
        check_locked_memory(rdma, 8 << 20)
    check_locked_memory(rdma, resource.RLIM_INFINITY)
    check_locked_memory(task(2), 8 << 20)


def test_a_missing_task_ends_with_code_two(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--task", str(tmp_path / "none.json")])
    assert ended.value.code == 2


def test_a_task_that_is_none_says_which_field(tmp_path: Path) -> None:
    path = tmp_path / "task.json"
    path.write_text('{"run": {}}')
    with pytest.raises(InvalidInput, match=r"task\.json\.run\.namespace"):
        read_settings(["--task", str(path)])


def test_an_unknown_megatron_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_remedies, "installed_megatron", lambda: "0.99.0")
    with pytest.raises(cpu_remedies.UnknownMegatron, match=r"0\.99\.0"):
        cpu_remedies.check_version()
