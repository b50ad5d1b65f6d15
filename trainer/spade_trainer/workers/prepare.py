"""The preparation Job: checks storage, corpus, skills and model, makes policy 0 and writes run.json (design §6).

What is wrong with the run is a result (`accepted: false` with a reason); what is wrong with a disk is an error.
"""

import errno
import uuid

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import ASKED, DesignerSource
from spade_contracts.errors import InvalidInput, StorageConflict
from spade_contracts.manifests import RunManifest
from spade_contracts.resources import Reason
from spade_contracts.statuses import PrepareResult
from spade_contracts.tasks import PrepareTask
from spade_trainer.design.corpus_files import CorpusNotFound
from spade_trainer.design.corpus_index import Corpus, CorpusIndex, index_corpus, open_corpus, write_index
from spade_trainer.design.pool import PoolNotFound, read_pool
from spade_trainer.design.skills import skill_named
from spade_trainer.store import manifests
from spade_trainer.store.objects import Store, create, open_store, remove
from spade_trainer.store.policies import policy_files
from spade_trainer.store.room import storage_full
from spade_trainer.workers.hub import download_model
from spade_trainer.workers.model_source import Refused, check_model, check_prompts, install_model, resolve_model
from spade_trainer.workers.origin import Start, start_from

NUMBERS_VERSION = "1"
"""Changes when the same settings and draws would give other numbers; such a version refuses to go on with old runs."""
UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST)
MESSAGE_CHARACTERS = 1500


def prepare(task: PrepareTask) -> PrepareResult:
    """Prepare a run; twice changes nothing. Raises OSError if storage fails for another reason than access
    or want of room.
    """
    try:
        return _prepared(task)
    except Refused as error:
        return _refused(error.reason, error)
    except StorageConflict as error:
        return _refused(Reason.STORAGE_CONFLICT, error)
    except OSError as error:
        full = storage_full(task.run.storage_uri, error)
        if full is None:
            raise
        return _refused(Reason.STORAGE_FULL, full)


def _prepared(task: PrepareTask) -> PrepareResult:
    """The result for a run that is accepted. Raises Refused or StorageConflict."""
    store = writable(task.run.storage_uri)
    present = manifests.find(store, manifests.run_path(), RunManifest)
    start = _start(task, present)
    manifest = RunManifest(
        namespace=task.run.namespace,
        name=task.run.name,
        model_uri=start.model_uri,
        origin=start.origin,
        method=task.method,
        versions={"numbers": NUMBERS_VERSION},
    )
    _check_conflict(store, manifest, present)
    corpus = _checked_corpus(store, task.method, present)
    _check_pool(task.method)
    _check_skills(task.method)
    # Of a run that is prepared, policy 0 is asked: what it was copied from may be gone by now.
    folder = start.folder or policy_files(store, 0)
    check_prompts(start.model_uri, task.method)
    figures = check_model(folder, task.method)
    policy = install_model(folder, store, start.files)
    if present is None:
        if corpus is not None:
            write_index(store, corpus)
        manifests.write(store, manifests.run_path(), manifest)
    return PrepareResult(
        accepted=True,
        model_parameters=policy.parameters,
        model_experts=figures.experts,
        corpus_documents=int(corpus.places.size) if corpus is not None else 0,
        corpus_left_out=dict(corpus.left_out) if corpus is not None else {},
    )


def _start(task: PrepareTask, present: RunManifest | None) -> Start:
    """What the run starts from. Raises Refused, which says what is not there."""
    if task.origin is None:
        if task.revision is not None:
            return _of_hub(task.model_uri, task.revision, present)
        return Start(task.model_uri, resolve_model(task.model_uri))
    wanted = task.origin.policy_version
    taken = present.origin if present is not None else None
    same = taken is not None and taken.run == task.origin.run and wanted in (None, taken.policy_version)
    if present is not None and same:
        return Start(present.model_uri, None, taken)
    return start_from(task.origin)


def _of_hub(uri: str, revision: str, present: RunManifest | None) -> Start:
    """A model of the hub; of a run that is prepared, the hub is not asked again."""
    pinned = f"{uri}@{revision}"
    if present is not None and present.model_uri == pinned:
        return Start(pinned, None)
    return Start(pinned, download_model(uri.removeprefix("hf:"), revision))


def _refused(reason: Reason, error: Exception) -> PrepareResult:
    """The result for a run that is not accepted."""
    return PrepareResult(accepted=False, reason=reason.value, message=str(error)[:MESSAGE_CHARACTERS])


def writable(uri: str) -> Store:
    """The run's storage, after something was written to it and removed again."""
    try:
        store = open_store(uri)
        name = f".write-test-{uuid.uuid4().hex}"
        create(store, name, b"first")
        exclusive = not create(store, name, b"second")
        remove(store, name)
    except InvalidInput as error:
        raise Refused(Reason.STORAGE_UNAVAILABLE, error.where, str(error)) from error
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        raise Refused(
            Reason.STORAGE_UNAVAILABLE,
            "storage",
            f"{uri} cannot be written: {error.strerror}",
            remedy="Mount it writable.",
        ) from error
    if not exclusive:
        raise Refused(
            Reason.STORAGE_UNAVAILABLE,
            "storage",
            f"{uri} lets a second writer replace the first one's object, so nothing there could be trusted",
            remedy="Use a service that honours If-None-Match on PUT.",
        )
    return store


def _check_conflict(store: Store, manifest: RunManifest, present: RunManifest | None) -> None:
    """Refuse a folder that holds another run, before anything is written into it."""
    if present is not None and present != manifest:
        different = [name for name in RunManifest.model_fields if getattr(present, name) != getattr(manifest, name)]
        raise StorageConflict(
            f"{store.uri} holds a run with another {', '.join(different)}.",
            remedy="Give this run another name or claim, or remove that folder from the claim.",
        )


def _checked_corpus(store: Store, method: MethodConfig, present: RunManifest | None) -> CorpusIndex | None:
    """The corpus' index; None for a run that has none. Of a run that is prepared, the index in run storage counts."""
    settings = method.environments.corpus
    if not settings.uri or method.environments.designer.source not in ASKED:
        return None
    try:
        if present is None:
            return index_corpus(settings)
        corpus = open_corpus(store, settings)
    except CorpusNotFound as error:
        raise Refused(Reason.CORPUS_NOT_FOUND, error.where, str(error)) from error
    except InvalidInput as error:
        raise Refused(Reason.CORPUS_INVALID, error.where, str(error)) from error
    return corpus.index if isinstance(corpus, Corpus) else None


def _check_pool(method: MethodConfig) -> None:
    """Refuse a pool that is not there, or is not the one that the run names."""
    designer = method.environments.designer
    if designer.source is not DesignerSource.POOL:
        return
    try:
        read_pool(designer.pool)
    except PoolNotFound as error:
        raise Refused(Reason.POOL_NOT_FOUND, error.where, str(error)) from error
    except InvalidInput as error:
        raise Refused(Reason.POOL_CHANGED, error.where, str(error)) from error


def _check_skills(method: MethodConfig) -> None:
    """Refuse a skill that no prompt can speak of."""
    if method.environments.designer.source not in ASKED:
        return
    for name in method.environments.skills:
        try:
            skill_named(method.environments.domain, name)
        except KeyError as error:
            raise Refused(Reason.INVALID_SPEC, "environments.skills", str(error.args[0])) from error
