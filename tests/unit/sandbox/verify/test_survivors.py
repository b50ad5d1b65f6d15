"""How a verdict lists the mutants that its controls miss."""

from spade_contracts.verdicts import MAX_FACT_CHARACTERS
from spade_sandbox.verify.mutants import MORE_FACTS, packed


def test_survivors_are_lines_of_a_few_facts() -> None:
    texts = [f"line {number}: " + "x" * 290 for number in range(7)]
    facts = packed(texts)
    assert "\n".join(facts).split("\n") == texts
    assert [len(fact.split("\n")) for fact in facts] == [3, 3, 1]
    assert packed([]) == []


def test_what_does_not_fit_is_counted() -> None:
    facts = packed([str(number).rjust(900, "x") for number in range(200)])
    assert len(facts) == MORE_FACTS
    assert max(map(len, facts)) <= MAX_FACT_CHARACTERS
    assert facts[-1].endswith(f"\nand {200 - MORE_FACTS} more")
