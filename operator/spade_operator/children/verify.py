"""The Job of a stand-alone EnvBatch: it verifies existing programs."""

from spade_contracts.resources import EnvBatchSpec
from spade_contracts.tasks import VerifyTask
from spade_operator.children.manifests import Manifest
from spade_operator.children.names import verify_job_name
from spade_operator.children.owner import Owner
from spade_operator.children.site import Site
from spade_operator.children.workers import sandbox_host, worker_job


def verify_job(owner: Owner, spec: EnvBatchSpec, site: Site, attempt: int) -> list[Manifest]:
    """The Job of one attempt."""
    assert spec.source is not None, "the API server refuses a stand-alone batch without it"
    task = VerifyTask(
        run=owner.ref,
        programs_uri=spec.source.programs,
        domain=spec.source.domain,
        settings=spec.settings(),
        limits=spec.limits(),
        attempt=attempt,
        workers=spec.workers,
        sandbox_host=sandbox_host(owner),
    )
    name = verify_job_name(owner.parent.name, attempt)
    return [worker_job(owner, site, name, task, parent=owner.parent, labels={"attempt": attempt})]
