"""examples/verify-pool.yaml: a claim with good and bad programs gets truthful verdicts, and no pod stays behind."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from tests.e2e.kube import Cluster, Object, condition, get, items, kubectl, wait_until
from tests.e2e.runs import NAMESPACE, volume_folder

EXAMPLE = Path(__file__).parents[2] / "examples" / "verify-pool.yaml"
NAME, CLAIM = "verify-pool", "sample-programs"
FAMILY = f"spade.dev/run={NAME}-batch"
VERIFIED_SECONDS = 180
GONE_SECONDS = 30
EXPECTED = {
    "any_answer.py": "controls",
    "code_lock.py": "accepted",
    "half_written.py": "parse",
    "number_search.py": "accepted",
    "number_search_renamed.py": "novelty",
    "phones_home.py": "parse",
}
"""Program → the stage that speaks last."""


@pytest.fixture(scope="module")
def batch(operator: Cluster) -> Iterator[Object]:
    """The batch after its end."""
    documents = list(yaml.safe_load_all(EXAMPLE.read_text(encoding="utf-8")))
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    kubectl(operator, "apply", "-n", NAMESPACE, "-f", "-", input_text=text)

    def ended() -> Object | None:
        seen = get(operator, "envbatch", NAME, NAMESPACE)
        return seen if any(condition(seen, kind)[0] == "True" for kind in ("Complete", "Failed")) else None

    def told() -> str:
        pods = [(p["metadata"]["name"], p["status"].get("phase")) for p in items(operator, "pods", NAMESPACE)]
        return f"{(get(operator, 'envbatch', NAME, NAMESPACE) or {}).get('status')}\n{pods}"

    yield wait_until("the batch ends", ended, VERIFIED_SECONDS, told)
    kubectl(operator, "delete", "-n", NAMESPACE, "-f", "-", "--wait=false", "--ignore-not-found", input_text=text)


def verdicts(cluster: Cluster, batch: Object) -> dict[str, Object]:
    """The rows of the verdicts by program, from the claim's folder on this machine."""
    path = batch["status"]["storageUri"].removeprefix("file:///storage/")
    folder = volume_folder(cluster, CLAIM) / path
    manifest = json.loads((folder / "verification.json").read_text(encoding="utf-8"))
    return {row["name"]: row for row in pq.read_table(folder / manifest["verdicts"]).to_pylist()}


def test_batch_is_complete_and_counts_what_it_found(batch: Object) -> None:
    assert condition(batch, "Complete")[0] == "True", batch["status"]
    assert condition(batch, "Generated")[:2] == ("False", "NotApplicable")
    accepted = sum(stage == "accepted" for stage in EXPECTED.values())
    assert (batch["status"]["requested"], batch["status"]["accepted"]) == (len(EXPECTED), accepted)
    assert sum(batch["status"]["rejected"].values()) == len(EXPECTED) - accepted


def test_every_program_has_the_verdict_it_deserves(operator: Cluster, batch: Object) -> None:
    found = verdicts(operator, batch)
    assert {name: row["stage"] for name, row in found.items()} == EXPECTED
    counted = {f"{row['stage']}/{row['reason']}" for row in found.values() if not row["accepted"]}
    assert set(batch["status"]["rejected"]) == counted
    evidence = json.loads(found["any_answer.py"]["evidence"])
    assert any(exchange["op"] == "step" for trace in evidence for exchange in trace["exchanges"])


def test_pods_are_given_back_and_the_claim_stays(operator: Cluster, batch: Object) -> None:
    wait_until("no pod of the batch", lambda: not items(operator, "pods", NAMESPACE, FAMILY), GONE_SECONDS)
    for kind in ("jobs", "deployments"):
        assert not items(operator, kind, NAMESPACE, FAMILY)
    assert get(operator, "pvc", CLAIM, NAMESPACE) is not None
    seen = get(operator, "envbatch", NAME, NAMESPACE)
    assert condition(seen, "Isolated")[:2] == ("False", "Finished")


def test_deleted_batch_leaves_nothing_but_the_claim(operator: Cluster, batch: Object) -> None:
    kubectl(operator, "delete", "envbatch", NAME, "-n", NAMESPACE, "--wait=false")
    kinds = ("services", "secrets", "configmaps", "networkpolicies")

    def gone() -> bool:
        return not any(items(operator, kind, NAMESPACE, FAMILY) for kind in kinds)

    wait_until("everything of the batch is gone", gone, GONE_SECONDS)
    assert get(operator, "pvc", CLAIM, NAMESPACE) is not None
