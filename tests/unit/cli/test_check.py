"""`spade check` says what the operator's acceptance says, without a cluster."""

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spade_cli.check import resolved
from spade_cli.cluster import read_document
from spade_cli.main import app, check, plain
from spade_contracts.errors import InvalidInput

HEAD = (
    "apiVersion: spade.dev/v1alpha1\nkind: SpadeRun\nmetadata: {name: x}\nspec:\n  model: {uri: 'file:///storage/m'}\n"
)
ROOT = Path(__file__).parents[3]


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    return str(path)


def test_what_the_user_leaves_out_comes_from_the_profile(tmp_path: Path) -> None:
    method = resolved(read_document(written(tmp_path, HEAD + "  rollouts: 4\n  profile: Paper\n")))
    assert method.environments.per_cycle == 24
    assert method.play.sampling.top_p == 0.95


@pytest.mark.parametrize(
    ("line", "where", "says"),
    [
        ("  environments: {perCyle: 6}\n", "spec.environments.perCyle", "Did you mean perCycle"),
        ("  environments: {per_cycle: 6}\n", "spec.environments.per_cycle", "Did you mean perCycle"),
        ("  environments: {perCycle: '6'}\n", "spec.environments.perCycle", "whole number. Remove the quotes"),
        ("  environments: {perCycle: true}\n", "spec.environments.perCycle", "is true, not a whole number"),
        ("  rewards: {regretScale: '0.1'}\n", "spec.rewards.regretScale", "not a number. Remove the quotes"),
        ("  rewards: {regretFloor: 'yes'}\n", "spec.rewards.regretFloor", "not true or false"),
        ("  seed: 2026-01-01\n", "spec", "nothing that JSON can say"),
        ("  environments: {activeSkills: 9}\n", "spec", "name more skills or lower it"),
        ("  learner: {ranksPerNode: 3, parallelism: {expert: 2}}\n", "spec.learner", "multiple of it"),
        ("  play: {sampling: {topP: 0.9}}\n", "spec", "cannot renormalise"),
        ("  sandbox: {minPods: 3, maxPods: 2}\n", "spec.sandbox.minPods", "Lower one or raise the other"),
        ("  engine: {args: {served-model-name: x}}\n", "spec.engine.args", "speed, memory and layout only"),
        ("  environments: {corpus: {uri: 'gs://bucket/x'}}\n", "spec.environments.corpus.uri", "Write package:NAME"),
        (
            "  workers: {pod: {environment: {PATH: /x}}}\n",
            "spec.workers.pod.environment",
            "PATH may not be set, because",
        ),
        (
            "  environments: {skills: [Juggling, Optimization], activeSkills: 1}\n",
            "spec.environments.skills",
            "'Juggling' cannot be trained in the domain Games. Use of Mathematical Reasoning, Logical Deduction",
        ),
        (
            "  environments: {domain: Tools, skills: [Optimization], activeSkills: 1}\n",
            "spec.environments.skills",
            "Use of API Orchestration",
        ),
        (
            "  environments: {designer: {source: Endpoint}}\n",
            "spec.environments.designer.endpoint.url",
            "such as https://HOST/v1",
        ),
        (
            "  environments: {designer: {source: Endpoint, endpoint: {url: 'https://key@host/v1', model: m}}}\n",
            "spec.environments.designer.endpoint.url",
            "Put the key into a Secret",
        ),
        (
            "  environments: {designer: {source: Endpoint, endpoint: {url: 'https://host/v1'}}}\n",
            "spec.environments.designer.endpoint.model",
            "Write the model's name",
        ),
        (
            "  environments: {hints: {endpoint: {url: 'https://host/v1', model: m}}}\n",
            "spec.environments.hints.endpoint.url",
            "is not used",
        ),
        (
            "  environments: {designer: {source: Pool, pool: {uri: 's3:x'}}}\n",
            "spec.environments.designer.pool.uri",
            "Write file:///PATH",
        ),
        (
            "  environments: {designer: {source: Pool, pool: {uri: 'file:///storage/pool'}}}\n",
            "spec.environments.designer.pool.sha256",
            "Write the digest",
        ),
        (
            "  environments: {designer: {source: Pool, pool: {uri: 's3://bucket/pools/fixed'}}}\n",
            "spec.environments.designer.pool.sha256",
            "Write the digest",
        ),
        (
            "  environments: {designer: {pool: {uri: 'file:///storage/pool'}}}\n",
            "spec.environments.designer.pool.uri",
            "source: Pool",
        ),
        (
            "  environments: {verification: {stages: [Solution, Judge]}}\n",
            "spec.environments.verification.judge.url",
            "Write the base URL of an OpenAI-compatible endpoint",
        ),
        (
            "  environments: {skills: [Tool_Selection], activeSkills: 1}\n",
            "spec.environments.skills",
            "cannot be trained in the domain Games",
        ),
        ("  engine: {pod: {labels: {spade.dev/role: x}}}\n", "spec.engine.pod.labels", "use a domain of your own"),
        ("  sandbox: {pod: {volumes: []}}\n", "spec.sandbox.pod.volumes", "is no field"),
        (
            "  learner: {pod: {tolerations: [{key: a, operator: Exists, value: b}]}}\n",
            "spec.learner.pod.tolerations.0",
            "remove value, or write operator: Equal",
        ),
    ],
)
def test_wrong_spec_is_refused_with_its_path_and_what_to_write(
    tmp_path: Path, line: str, where: str, says: str
) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        resolved(read_document(written(tmp_path, HEAD + "  rollouts: 4\n" + line)))
    assert caught.value.where == where


@pytest.mark.parametrize("path", [ROOT / "examples" / name for name in ("first.yaml", "mini.yaml")])
def test_examples_would_be_accepted(path: Path) -> None:
    assert resolved(read_document(str(path))).learner.ranks == 2


@pytest.mark.parametrize("name", ["qwen3-30b-a3b.yaml", "gpu-cluster.yaml", "colocated.yaml"])
def test_examples_of_real_size_would_be_accepted(name: str) -> None:
    assert resolved(read_document(str(ROOT / "examples" / name))).learner.ranks >= 4


@pytest.mark.parametrize(
    ("name", "source"),
    [("designer-endpoint.yaml", "Endpoint"), ("designer-pool.yaml", "Pool"), ("designer-corpus.yaml", "Policy")],
)
def test_examples_of_each_designer_would_be_accepted(name: str, source: str) -> None:
    assert resolved(read_document(str(ROOT / "examples" / name))).environments.designer.source == source


def test_run_of_the_readme_is_the_example() -> None:
    block = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert block is not None
    assert (ROOT / "examples" / "first.yaml").read_text().endswith(block[1])


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("  model: {uri: 'package:huge'}\n", "package:huge is not shipped. Use package:tiny"),
        ("  model: {uri: 'package:tiny'}\n", "knows the compact prompts only. Write Compact"),
        (
            "  model: {uri: 'package:tiny'}\n  play: {promptTemplate: Compact}\n"
            "  environments: {designer: {promptTemplate: Compact}}\n",
            "is 32768, but the model reads at most 2048 tokens",
        ),
    ],
)
def test_what_is_shipped_is_looked_into(tmp_path: Path, line: str, says: str) -> None:
    text = HEAD.replace("  model: {uri: 'file:///storage/m'}\n", line)
    with pytest.raises(InvalidInput, match=says):
        resolved(read_document(written(tmp_path, text + "  rollouts: 4\n")))


AT = "{source: Endpoint, endpoint: {url: 'https://host/v1', model: m}}"


@pytest.mark.parametrize(
    ("environments", "hinted", "asked"),
    [
        (f"{{designer: {AT}, hints: {AT.replace('source', 'mode')}}}", 8, False),
        (f"{{designer: {AT}}}", 8, True),
        (f"{{designer: {AT}}}", 0, False),
        (f"{{hints: {AT.replace('source', 'mode')}}}", 8, True),
        ("{perCycle: 16, designer: {source: Families}}", 8, False),
    ],
    ids=["endpoints", "own hints", "no hints", "own programs", "families"],
)
def test_the_designers_prompts_matter_where_the_model_is_shown_them(
    tmp_path: Path, environments: str, hinted: int, asked: bool
) -> None:
    head = HEAD.replace("file:///storage/m", "package:tiny")
    play = f"  play: {{promptTemplate: Compact, contextTokens: 2048, hintedPlays: {hinted}}}\n"
    document = read_document(written(tmp_path, f"{head}  rollouts: 4\n{play}  environments: {environments}\n"))
    if not asked:
        assert resolved(document).environments.designer.prompt_template == "Full"
        return
    with pytest.raises(InvalidInput, match="knows the compact prompts only") as caught:
        resolved(document)
    assert caught.value.where == "spec.environments.designer.promptTemplate"


def test_misspelt_field_is_named_before_the_one_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"Also wrong: spec\.rollouts: is missing") as caught:
        resolved(read_document(written(tmp_path, HEAD + "  rolouts: 4\n")))
    assert caught.value.where == "spec.rolouts"


def test_object_pasted_behind_another_is_not_lost_in_silence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="the key 'apiVersion' stands there twice"):
        read_document(written(tmp_path, HEAD + "  rollouts: 4\n" + HEAD + "  rollouts: 4\n"))


def test_name_that_is_kept_for_batches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not end in -batch"):
        resolved(read_document(written(tmp_path, HEAD.replace("{name: x}", "{name: x-batch}") + "  rollouts: 4\n")))


NAMELESS = HEAD.replace("{name: x}", "{}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "is not YAML"),
        ("", "holds 0 documents"),
        ("- a\n", "holds text or a list"),
        ("kind: SpadeRun\napiVersion: v1\n", "has the apiVersion 'v1'. Write apiVersion: spade.dev/v1alpha1"),
        ("kind: SpadeRun\n", "has no apiVersion. Write apiVersion: spade.dev/v1alpha1"),
        ("kind: SpadRun\napiVersion: spade.dev/v1alpha1\n", "has the kind 'SpadRun'. Write kind: SpadeRun or EnvBatch"),
        ("apiVersion: spade.dev/v1alpha1\n", "has no kind. Write kind: "),
        (HEAD + "---\n" + HEAD, "holds 2 documents; write exactly one"),
        (NAMELESS, "has no metadata.name"),
    ],
)
def test_file_that_is_not_one_object_of_ours_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        read_document(written(tmp_path, text))


def test_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="is not YAML"):
        read_document(str(path))


@pytest.mark.parametrize("name", ["A_b", "9x", "x.y", "x-", "x" * 41])
def test_name_that_the_api_server_would_refuse_is_refused(tmp_path: Path, name: str) -> None:
    document = read_document(written(tmp_path, HEAD.replace("{name: x}", f"{{name: {name}}}") + "  rollouts: 4\n"))
    with pytest.raises(InvalidInput, match="at most 40 lower-case letters"):
        resolved(document)


def test_what_only_a_cluster_can_allow_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    learner = "  learner: {fabric: Rdma, pod: {resources: {limits: {rdma/hca: 1}}}}\n"
    check(written(tmp_path, HEAD + "  rollouts: 4\n" + learner))
    said = " ".join(capsys.readouterr().out.split())
    assert "accepted only where the chart's value rdma.resources names a resource" in said
    check(written(tmp_path, HEAD + "  rollouts: 4\n"))
    assert "rdma" not in capsys.readouterr().out


def test_brackets_in_a_message_are_shown_and_not_taken_for_markup(capsys: pytest.CaptureFixture[str]) -> None:
    plain().print("error: [/x] [bold] :smile:", style="red", soft_wrap=True)
    assert capsys.readouterr().out == "error: [/x] [bold] :smile:\n"


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [(["--offline"], 0, ""), ([], 0, "No cluster was looked at: "), (["--cluster"], 1, "")],
    ids=["not wanted", "none answers", "wanted"],
)
def test_cluster_is_looked_at_when_one_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], code: int, says: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    result = CliRunner().invoke(app, ["check", written(tmp_path, HEAD + "  rollouts: 4\n"), *options])
    assert result.exit_code == code
    assert isinstance(result.exception, InvalidInput) == bool(code)
    rest = result.output.partition("learner ranks.\n")[2]
    assert rest.startswith(says)
    assert bool(rest) == bool(says)


def test_a_file_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is nested too deeply"):
        read_document(written(tmp_path, "[" * 100_000))
