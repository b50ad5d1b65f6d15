"""Names of children are computed from their parents', fit everywhere and never meet."""

from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.labels import Role
from spade_operator.children import names

RUN_NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True)
HOST_NAME_CHARACTERS = 63
LONGEST_INDEX = len("-1023")


def test_names_read_as_documented() -> None:
    assert names.claim_name("mini") == "mini-storage"
    assert names.prepare_job_name("mini") == "mini-prepare"
    assert names.prepare_job_name("mini", 1) == "mini-prepare-a1"
    assert names.role_name("mini", Role.SANDBOX) == "mini-sandbox"
    assert names.learner_job_name("mini", 2) == "mini-learner-a2"
    assert names.env_batch_name("mini", 4) == "mini-c0004"
    assert names.rollout_job_name("mini", 7) == "mini-r0007"
    assert names.design_job_name("mini-c0004", 0) == "mini-c0004-design-a0"
    assert names.play_job_name("mini-r0007", 0) == "mini-r0007-play-a0"


@given(RUN_NAMES, st.integers(0, 1_000_000), st.integers(0, 1000))
def test_every_indexed_pod_has_a_host_name(run: str, number: int, attempt: int) -> None:
    jobs = (
        names.learner_job_name(run, attempt),
        names.design_job_name(names.env_batch_name(run, number), attempt),
        names.play_job_name(names.rollout_job_name(run, number), attempt),
    )
    for job in jobs:
        assert len(job) + LONGEST_INDEX <= HOST_NAME_CHARACTERS
        assert not job.endswith("-")
        assert job.startswith(run[0])


@given(st.text("abc", min_size=40, max_size=80), st.integers(0, 5), st.integers(0, 5))
def test_shortened_names_stay_different_and_keep_their_last_part(parent: str, one: int, other: int) -> None:
    first = names.child_name(parent, "play", f"a{one}")
    second = names.child_name(parent, "play", f"a{other}")
    assert (first == second) == (one == other)
    assert first.endswith(f"-play-a{one}")
    assert len(first) <= names.MAX_NAME
