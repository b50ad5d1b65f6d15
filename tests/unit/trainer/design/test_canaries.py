"""The canaries of a cycle follow from the run's seed: a second attempt meets the same, another cycle others."""

from tests.unit.trainer.builders import method

from spade_trainer.design.canaries import canaries_of, mixed

CONFIG = method(environments={"verification": {"canaries": 3}})


def test_a_cycle_has_its_own_canaries_whenever_it_is_asked() -> None:
    first = canaries_of(CONFIG, 0)
    assert first == canaries_of(CONFIG, 0)
    assert sorted(canary.good for canary, _ in first) == [False] * 3 + [True] * 3
    texts = {text for cycle in range(4) for _, text in canaries_of(CONFIG, cycle)}
    assert len(texts) == 4 * 6, "no text is judged twice"


def test_canaries_have_no_place_of_their_own_among_the_slots() -> None:
    places = set()
    for cycle in range(30):
        order = mixed(CONFIG, cycle, ["slot"] * 6 + ["canary"])
        assert order == mixed(CONFIG, cycle, ["slot"] * 6 + ["canary"])
        places.add(order.index("canary"))
    assert len(places) > 4
