"""Records hold what we use of an object, and nothing of an object can break them but a status of our own."""

from hypothesis import given
from hypothesis import strategies as st

from spade_operator.records import Kind, PodRecord, RunRecord, record_of

META = {"name": "mini", "namespace": "default", "uid": "u", "resourceVersion": "5", "generation": 2}


def run(**parts: object) -> RunRecord:
    found = record_of(Kind.RUN, {"metadata": META, **parts})
    assert isinstance(found, RunRecord)
    return found


def test_run_holds_its_resolved_settings() -> None:
    found = run(spec={"model": {"uri": "package:tiny"}, "rollouts": 2})
    assert found.problem == ""
    assert found.method is not None
    assert found.method.environments.cycle_length >= 1


def test_run_with_a_wrong_spec_says_where() -> None:
    found = run(spec={"model": {"uri": "package:tiny"}, "rollouts": 0})
    assert found.spec is None
    assert found.problem.startswith("spec.rollouts:")


def test_field_of_a_newer_operator_in_status_is_passed_over() -> None:
    found = run(spec={"model": {"uri": "package:tiny"}, "rollouts": 2}, status={"rollout": 1, "fromTheFuture": 1})
    assert found.status.rollout == 1


def test_status_that_cannot_be_read_is_told_because_position_is_in_it() -> None:
    found = run(spec={"model": {"uri": "package:tiny"}, "rollouts": 2}, status={"rollout": "three"})
    assert found.unreadable.startswith("status.rollout: ")


def test_pod_that_has_no_status_yet_is_read() -> None:
    found = record_of(Kind.POD, {"metadata": META, "spec": {}})
    assert isinstance(found, PodRecord)
    assert found.live
    assert found.ip == ""


@given(st.sampled_from(["True", "False", "Unknown"]), st.text(max_size=40))
def test_gate_counts_only_when_true_and_naming_a_boot(status: str, message: str) -> None:
    gate = {"type": "spade.dev/isolated", "status": status, "message": message}
    found = record_of(Kind.POD, {"metadata": META, "status": {"conditions": [gate]}})
    assert isinstance(found, PodRecord)
    if status != "True" or "boot " not in message:
        assert found.admitted_boot == ""


@given(st.text(max_size=40) | st.sampled_from(["²", "٣", "9" * 5000, "-1", " 1"]))
def test_annotation_that_anybody_may_write_breaks_no_pod(text: str) -> None:
    notes = {"annotations": {"batch.kubernetes.io/job-completion-index": text}}
    found = record_of(Kind.POD, {"metadata": {**META, "labels": {"spade.dev/run": "mini"}, **notes}})
    assert isinstance(found, PodRecord)
    assert found.index is None or str(found.index) == (text.lstrip("0") or "0")


def test_boot_of_an_admitted_pod_is_read_from_its_gate() -> None:
    gate = {
        "type": "spade.dev/isolated",
        "status": "True",
        "message": "proven for boot 0123456789abcdef after 2 restarts",
    }
    found = record_of(Kind.POD, {"metadata": META, "status": {"conditions": [gate]}})
    assert isinstance(found, PodRecord)
    assert (found.admitted_boot, found.admitted_restarts) == ("0123456789abcdef", 2)


def test_controlling_owner_comes_before_others() -> None:
    owners = [{"uid": "other"}, {"uid": "controller", "controller": True}]
    assert record_of(Kind.JOB, {"metadata": META | {"ownerReferences": owners}}).meta.owner_uid == "controller"
