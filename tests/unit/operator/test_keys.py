"""Whoever depends on an object is asked when it changes."""

from tests.support import pictures as p

from spade_contracts.labels import Role
from spade_operator.facts import Facts
from spade_operator.keys import Key, child_keys, keys_of, run_key
from spade_operator.records import Kind

THE_RUN = run_key("default", "mini")


def test_everything_asks_its_run() -> None:
    for record in (p.run_record(), p.batch(0), p.plays(0), p.ENGINE, p.deployment(Role.ENGINE), p.beacon_service()):
        assert THE_RUN in keys_of(record)


def test_worker_pods_and_jobs_ask_their_unit_too() -> None:
    playing = Key(Kind.ROLLOUT, "default", "mini-r0007", "mini")
    designing = Key(Kind.BATCH, "default", "mini-c0003", "mini")
    assert list(keys_of(p.pod(Role.WORKER, rollout=7, cycle=3))) == [THE_RUN, playing]
    assert list(keys_of(p.job("x", Role.WORKER, rollout=7, cycle=3))) == [THE_RUN, playing]
    assert list(keys_of(p.pod(Role.WORKER, cycle=3))) == [THE_RUN, designing]


def test_run_asks_its_unfinished_units_only() -> None:
    facts = Facts()
    for record in (p.run_record(), p.batch(0, "Complete"), p.batch(1), p.plays(1, "Failed"), p.plays(2)):
        facts.put(record)
    assert {key.name for key in child_keys(facts, THE_RUN)} == {"mini-c0001", "mini-r0002"}
