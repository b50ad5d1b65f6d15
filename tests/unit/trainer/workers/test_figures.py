"""A worker's metrics begin at zero for every label, and count what they are told."""

from spade_contracts.metrics import METRICS
from spade_trainer.assembly import SampleRole
from spade_trainer.design.corpus import Cut
from spade_trainer.flaws import Flaw
from spade_trainer.workers.figures import new_figures

FLAWED, CUT = "spade_worker_flawed_answers_total", "spade_worker_documents_cut_total"


def test_every_promised_family_is_exported() -> None:
    shown = {sample.name for family in new_figures().registry.collect() for sample in family.samples}
    for spec in METRICS:
        if spec.exporter == "worker":
            assert {spec.name, f"{spec.name}_count"} & shown, spec.name


def test_flaws_and_cuts_are_counted_from_zero_by_their_own_labels() -> None:
    figures = new_figures()
    for role in SampleRole:
        for flaw in Flaw:
            labels = {"role": role.value, "flaw": flaw.value}
            assert figures.registry.get_sample_value(FLAWED, labels) == 0
            figures.answer_flawed(role, flaw)
            assert figures.registry.get_sample_value(FLAWED, labels) == 1
    for limit in Cut:
        assert figures.registry.get_sample_value(CUT, {"limit": limit.value}) == 0
        figures.document_cut(limit)
        assert figures.registry.get_sample_value(CUT, {"limit": limit.value}) == 1
