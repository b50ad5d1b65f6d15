"""A model of the Hugging Face hub, or of a mirror that speaks its protocol, at one commit.

The library reads HF_TOKEN, HF_ENDPOINT and the proxies from the environment; a token is never an argument here, and
never in a message.
"""

import os
from pathlib import Path

from spade_contracts.errors import InfrastructureFault
from spade_contracts.resources import Reason
from spade_contracts.resources.volumes import HUB_MOUNT
from spade_trainer.workers.model_source import COPIED, Refused

CACHE = Path(HUB_MOUNT)
WHERE = "model.uri"


def download_model(repository: str, revision: str, cache: Path = CACHE) -> Path:
    """The folder with a model's files; what the cache has is not asked for again.

    Raises Refused for a model, commit or right that is not there, InfrastructureFault when the hub cannot be reached.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

    try:
        folder = snapshot_download(
            repository,
            revision=revision,
            cache_dir=cache if cache.is_dir() else None,
            allow_patterns=[f"*{suffix}" for suffix in COPIED],
            endpoint=os.environ.get("HF_ENDPOINT"),
        )
    except RevisionNotFoundError as error:
        text = f"the hub's {repository} has no commit {revision}"
        raise Refused(Reason.MODEL_NOT_FOUND, "model.revision", text, remedy="Name one that it has.") from error
    except (GatedRepoError, RepositoryNotFoundError) as error:
        remedy = "If it is private or gated, give a token: spec.workers.pod.secretEnvironment with HF_TOKEN."
        text = f"the hub does not show a model {repository}"
        raise Refused(Reason.MODEL_NOT_FOUND, WHERE, text, remedy=remedy) from error
    except OSError as error:
        raise InfrastructureFault(
            f"{repository} could not be downloaded from the hub: {type(error).__name__}.",
            remedy="Is the hub, or HF_ENDPOINT, allowed by egress.cidrs or the proxy of the installation?",
        ) from error
    if not (Path(folder) / "config.json").is_file():
        raise Refused(Reason.MODEL_NOT_FOUND, WHERE, f"{repository} at {revision} holds no config.json")
    return Path(folder)
