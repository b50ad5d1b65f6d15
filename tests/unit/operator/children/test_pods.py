"""Every pod meets the restricted Pod Security level, holds no credentials of Kubernetes and fits its budget."""

import json
from typing import Any

import pytest
from tests.support.children import make_run, make_site, workloads

from spade_contracts import labels as keys
from spade_contracts.tasks import DesignTask, EngineTask, LearnerTask, PlayTask, PrepareTask

RUN = make_run(
    learner={"ranksPerNode": 2, "parallelism": {"expert": 2}},
    engine={"args": {"max-num-seqs": "8"}},
    workers={"play": 3, "restarts": 4},
    sandbox={"sessionsPerPod": 16},
)
WORKLOADS = workloads(RUN, make_site())


def template(word: str) -> dict[str, Any]:
    result: dict[str, Any] = WORKLOADS[word]["spec"]["template"]
    return result


def pod(word: str) -> dict[str, Any]:
    result: dict[str, Any] = template(word)["spec"]
    return result


def container(word: str) -> dict[str, Any]:
    (only,) = pod(word)["containers"]
    result: dict[str, Any] = only
    return result


def environment(word: str) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container(word)["env"]}


def mounts(word: str) -> dict[str, bool]:
    """Mount path → read-only."""
    return {item["mountPath"]: item["readOnly"] for item in container(word)["volumeMounts"]}


@pytest.mark.parametrize("word", WORKLOADS)
def test_pods_are_restricted(word: str) -> None:
    security = pod(word)["securityContext"]
    assert security["runAsNonRoot"]
    assert (security["runAsUser"], security["fsGroup"]) == (65532, 65532)
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    own = container(word)["securityContext"]
    assert not own["allowPrivilegeEscalation"]
    assert own["readOnlyRootFilesystem"]
    assert own["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("word", WORKLOADS)
def test_pods_hold_no_credentials_of_kubernetes(word: str) -> None:
    assert pod(word)["automountServiceAccountToken"] is False
    assert pod(word)["enableServiceLinks"] is False


@pytest.mark.parametrize("word", WORKLOADS)
def test_everything_that_wants_to_write_has_a_sized_volume(word: str) -> None:
    paths = mounts(word)
    assert not paths["/home/spade"]
    assert not paths["/tmp"]
    for volume in pod(word)["volumes"]:
        if "emptyDir" in volume:
            assert volume["emptyDir"]["sizeLimit"]
    assert {path for path in environment(word).values() if path.startswith("/")} <= {
        value for value in environment(word).values() if value.startswith(("/home/spade", "/tmp"))
    }


@pytest.mark.parametrize("word", WORKLOADS)
def test_pods_have_requests_and_a_memory_limit(word: str) -> None:
    resources = container(word)["resources"]
    assert "cpu" in resources["requests"]
    assert "memory" in resources["limits"]
    assert "cpu" not in resources["limits"]


@pytest.mark.parametrize("word", WORKLOADS)
def test_numeric_code_uses_no_more_threads_than_its_cpu_request(word: str) -> None:
    assert environment(word)["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize("word", WORKLOADS)
def test_commands_are_argument_lists(word: str) -> None:
    assert container(word)["command"][:2] == ["python", "-m"]
    assert "args" not in container(word)


def test_sandboxes_take_their_isolation_from_the_site() -> None:
    site = make_site(sandbox_runtime_class="other", images={"sandbox": "x", "worker": "y", "trainer": "z"})
    spec = workloads(RUN, site)["sandbox"]["spec"]["template"]["spec"]
    assert spec["runtimeClassName"] == "other"
    assert spec["containers"][0]["image"] == "x"


def test_sandboxes_wait_for_their_proof() -> None:
    assert pod("sandbox")["readinessGates"] == [{"conditionType": "spade.dev/isolated"}]


def test_sandboxes_have_no_storage_no_task_and_no_resolver() -> None:
    assert "/storage" not in mounts("sandbox")
    assert all("persistentVolumeClaim" not in volume for volume in pod("sandbox")["volumes"])
    assert pod("sandbox")["dnsPolicy"] == "None"
    assert set(mounts("sandbox")) == {"/home/spade", "/tmp", "/etc/spade/tokens", "/etc/spade/probe"}


def test_only_sandboxes_run_under_the_sandbox_runtime() -> None:
    assert [word for word in WORKLOADS if "runtimeClassName" in pod(word)] == ["sandbox"]


def test_a_sandbox_pod_holds_what_the_run_allows() -> None:
    assert environment("sandbox")["SPADE_SANDBOX_CAPACITY"] == "16"


def test_draining_sandboxes_have_time() -> None:
    assert pod("sandbox")["terminationGracePeriodSeconds"] == 3600


def test_a_pool_sized_by_others_has_no_number_of_replicas() -> None:
    from spade_operator.children.sandbox import sandbox_deployment

    (external,) = sandbox_deployment(RUN.owner, make_site(), None)
    assert "replicas" not in external["spec"]


def test_engines_read_storage_and_never_write_it() -> None:
    assert mounts("engine")["/storage"] is True
    assert [word for word in WORKLOADS if mounts(word).get("/storage") is False] == [
        "prepare",
        "learner",
        "design",
        "play",
    ]


def test_learner_and_engine_have_shared_memory() -> None:
    assert [word for word in WORKLOADS if "/dev/shm" in mounts(word)] == ["engine", "learner"]


def test_a_paused_engine_is_unready_and_not_killed() -> None:
    assert container("engine")["readinessProbe"]["httpGet"] == {"path": "/ready", "port": 7422}
    assert container("engine")["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": 7422}


def test_tasks_are_what_the_processes_parse() -> None:
    models = {
        "prepare": PrepareTask,
        "engine": EngineTask,
        "learner": LearnerTask,
        "design": DesignTask,
        "play": PlayTask,
    }
    for word, model in models.items():
        text = template(word)["metadata"]["annotations"][keys.TASK_ANNOTATION]
        task = model.model_validate_json(text)
        assert task.run.storage_uri == "file:///storage/default/mini"
        assert "/etc/spade/task" in mounts(word)
    assert [word for word in WORKLOADS if "/etc/spade/task" in mounts(word)] == list(models)


def test_tasks_name_the_servers_and_the_work() -> None:
    task = PlayTask.model_validate_json(template("play")["metadata"]["annotations"][keys.TASK_ANNOTATION])
    assert (task.rollout, task.cycle, task.policy_version, task.attempt, task.workers) == (3, 1, 3, 0, 3)
    assert task.engine_host == "mini-engine.default.svc"
    assert task.sandbox_host == "mini-sandbox.default.svc"


def test_the_learner_prunes_as_the_run_says() -> None:
    from spade_operator.children.learner import learner_job

    (job,) = learner_job(make_run(retention={"policies": 5, "checkpoints": 4, "episodes": 9}), make_site(), 0)
    annotation = job["spec"]["template"]["metadata"]["annotations"][keys.TASK_ANNOTATION]
    task = LearnerTask.model_validate_json(annotation)
    assert (task.keep_policies, task.keep_checkpoints, task.keep_episodes) == (5, 4, 9)


def test_a_learner_of_one_pod_meets_itself() -> None:
    assert environment("learner")["MASTER_ADDR"] == "127.0.0.1"


def test_learner_pods_meet_at_the_first_of_their_attempt() -> None:
    from spade_operator.children.learner import learner_job

    (job,) = learner_job(make_run(learner={"nodes": 2}), make_site(), 5)
    spec = job["spec"]["template"]["spec"]
    assert spec["subdomain"] == "mini-learner"
    names = {item["name"]: item["value"] for item in spec["containers"][0]["env"]}
    assert names["MASTER_ADDR"] == "mini-learner-a5-0.mini-learner"
    assert names["MASTER_PORT"] == "29500"


def test_the_learners_group_stands_or_falls_together() -> None:
    job = WORKLOADS["learner"]["spec"]
    assert (job["completions"], job["parallelism"], job["backoffLimit"]) == (1, 1, 0)
    assert "podFailurePolicy" not in job


def test_play_workers_are_replaced_one_by_one_and_evictions_are_free() -> None:
    job = WORKLOADS["play"]["spec"]
    assert (job["completionMode"], job["completions"], job["parallelism"]) == ("Indexed", 3, 3)
    assert job["podReplacementPolicy"] == "Failed"
    assert job["backoffLimit"] == 4
    actions = [rule["action"] for rule in job["podFailurePolicy"]["rules"]]
    assert actions == ["FailJob", "Ignore"], "what finds storage full is not repeated by the Job"
    assert pod("play")["restartPolicy"] == "Never"


@pytest.mark.parametrize("word", ["prepare", "design", "play"])
def test_exit_code_that_means_never_uses_up_no_tries(word: str) -> None:
    (first, *_) = WORKLOADS[word]["spec"]["podFailurePolicy"]["rules"]
    (container,) = pod(word)["containers"]
    assert first == {
        "action": "FailJob",
        "onExitCodes": {"containerName": container["name"], "operator": "In", "values": [2, 3]},
    }


@pytest.mark.parametrize("word", WORKLOADS)
def test_container_that_fails_its_probe_is_gone_soon(word: str) -> None:
    spec = pod(word)
    for container in spec["containers"]:
        for probe in ("livenessProbe", "startupProbe"):
            grace = container.get(probe, {}).get("terminationGracePeriodSeconds")
            assert (spec["terminationGracePeriodSeconds"] if grace is None else grace) <= 30
        assert "terminationGracePeriodSeconds" not in container.get("readinessProbe", {}), "the API server refuses it"


def test_children_of_work_say_which_work() -> None:
    assert WORKLOADS["play"]["metadata"]["labels"][keys.ROLLOUT] == "3"
    assert template("play")["metadata"]["labels"][keys.CYCLE] == "1"
    assert template("design")["metadata"]["labels"][keys.CYCLE] == "1"
    assert template("learner")["metadata"]["labels"][keys.ATTEMPT] == "0"


def test_a_runs_own_resources_and_nodes_win() -> None:
    settings = {
        "resources": {"requests": {"cpu": "8"}, "limits": {"nvidia.com/gpu": "2"}},
        "nodeSelector": {"gpu": "h200"},
    }
    spec = workloads(make_run(engine={"pod": settings}), make_site())["engine"]["spec"]["template"]["spec"]
    assert spec["nodeSelector"] == {"gpu": "h200"}
    resources = spec["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "8", "nvidia.com/gpu": "2"}
    assert resources["limits"] == {"memory": "5Gi", "nvidia.com/gpu": "2"}


def test_selectors_match_their_own_pods_and_no_others() -> None:
    for word in ("sandbox", "beacon", "engine"):
        selector = WORKLOADS[word]["spec"]["selector"]["matchLabels"]
        matched = [other for other in WORKLOADS if selector.items() <= template(other)["metadata"]["labels"].items()]
        assert matched == [word]


def test_annotations_stay_far_below_their_limit() -> None:
    for word in WORKLOADS:
        assert len(json.dumps(template(word)["metadata"])) < 32_000
