"""A scrape gets our metrics, every known label at zero, and only the chosen families of vLLM."""

from prometheus_client.parser import text_string_to_metric_families

from spade_trainer.engine.figures import exposition, new_figures, selected
from spade_trainer.engine.life import Life, booted

VLLM = """\
# HELP vllm:generation_tokens_total Number of generation tokens processed.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0",model_name="policy"} 7.0
# HELP vllm:time_to_first_token_seconds Histogram of time to first token in seconds.
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.1"} 1.0
vllm:time_to_first_token_seconds_count 1.0
vllm:time_to_first_token_seconds_sum 0.05
# HELP vllm:generation_tokens_of_something_else_total Not chosen.
vllm:generation_tokens_of_something_else_total 1.0
# HELP python_info Python platform information
python_info{version="3.11"} 1.0
"""


def test_only_chosen_families_of_vllm_are_shown_with_their_types() -> None:
    shown = selected(VLLM).splitlines()
    assert len(shown) == 8
    assert all("generation_tokens_total" in line or "time_to_first_token_seconds" in line for line in shown)


def test_the_whole_text_is_an_exposition_that_parses() -> None:
    families = {family.name: family for family in text_string_to_metric_families(exposition(new_figures(), VLLM))}
    results = {sample.labels["result"] for sample in families["spade_engine_requests"].samples if sample.labels}
    assert results >= {"ok", "unauthorized", "not_serving", "wrong_policy", "updating", "failed"}
    assert families["spade_engine_policy_version"].samples[0].value == -1
    assert families["vllm:generation_tokens"].samples[0].value == 7


def test_an_unproven_version_is_not_shown_as_one() -> None:
    figures = new_figures()
    figures.life_changed(booted(Life(), 3))
    assert figures.registry.get_sample_value("spade_engine_policy_version") == -1
