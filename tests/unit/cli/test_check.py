"""`spade check` says what the operator's acceptance says, without a cluster."""

from pathlib import Path

import pytest

from spade_cli.check import resolved
from spade_cli.cluster import read_document
from spade_contracts.errors import InvalidInput

HEAD = "apiVersion: spade.dev/v1alpha1\nkind: SpadeRun\nmetadata: {name: x}\nspec:\n  model: {uri: 'package:tiny'}\n"


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
        ("  environments: {perCyle: 6}\n", "spec.environments.perCyle", "not permitted"),
        ("  environments: {activeSkills: 9}\n", "spec", "name more skills or lower it"),
        ("  learner: {ranksPerNode: 3, parallelism: {expert: 2}}\n", "spec.learner", "multiple of it"),
        ("  play: {sampling: {topP: 0.9}}\n", "spec", "cannot renormalise"),
        ("  sandbox: {minPods: 3, maxPods: 2}\n", "spec.sandbox.minPods", "Lower one or raise the other"),
        ("  environments: {corpus: {uri: 's3://bucket/x'}}\n", "spec.environments.corpus.uri", "Write package:NAME"),
    ],
)
def test_wrong_spec_is_refused_with_its_path_and_what_to_write(
    tmp_path: Path, line: str, where: str, says: str
) -> None:
    with pytest.raises(InvalidInput, match=says) as caught:
        resolved(read_document(written(tmp_path, HEAD + "  rollouts: 4\n" + line)))
    assert caught.value.where == where


@pytest.mark.parametrize("text", ["a: [", "", "kind: Pod\napiVersion: v1\n", HEAD + "---\n" + HEAD])
def test_file_that_is_not_one_object_of_ours_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidInput):
        read_document(written(tmp_path, text))
