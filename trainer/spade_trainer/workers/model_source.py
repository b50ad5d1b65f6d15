"""Where policy 0 comes from: `package:tiny`, which we ship, or a folder; it is checked and copied to policies/0000."""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from urllib.parse import unquote, urlsplit

from spade_contracts.config import MethodConfig
from spade_contracts.config.environments import DesignerSource, HintMode, PromptTemplate
from spade_contracts.config.sampling import Thinking
from spade_contracts.errors import InvalidInput
from spade_contracts.manifests import PolicyManifest
from spade_contracts.resources import Reason
from spade_trainer.chat import Chat, load_chat
from spade_trainer.models.hf_io import read_config
from spade_trainer.models.registry import family_of
from spade_trainer.play.episode import SPARE_TOKENS
from spade_trainer.play.prompt import first_message, template_of
from spade_trainer.store import layout, manifests, policies
from spade_trainer.store.objects import Store, local_path, remove
from spade_trainer.store.tensors import tensor_names

COPIED = (".safetensors", ".json", ".jinja", ".txt", ".model")
COMPACT_ONLY = frozenset({"package:tiny"})
PARTS = ("model", "environments", "play", "learner", "storage")
"""Parts of a run's spec that preparation looks into."""
EXPERT_KEYS = ("num_experts", "num_local_experts", "n_routed_experts")


class Refused(InvalidInput):
    """The run cannot be accepted as it is declared; `reason` is one of the condition Accepted."""

    def __init__(self, reason: Reason, where: str, message: str, *, remedy: str = "") -> None:
        self.reason = reason
        field = f"spec.{where}" if where.partition(".")[0] in PARTS else where
        super().__init__(field, message.removeprefix(f"{where}: "), remedy=remedy)


@dataclass(frozen=True)
class ModelFigures:
    """Size of the accepted model."""

    parameters: int
    experts: int


def resolve_model(uri: str) -> Path:
    """The folder that a model's URI stands for. Raises Refused for an unknown scheme or a missing folder."""
    parts = urlsplit(uri)
    if parts.scheme == "package":
        folder = Path(str(resources.files("spade_trainer.models"))) / parts.path
        known = folder.parent.name == "models" and (folder / "config.json").is_file()
        if not known:
            raise Refused(Reason.MODEL_NOT_FOUND, "model.uri", f"{uri} is not shipped", remedy="Use package:tiny.")
        return folder
    if parts.scheme in ("hf", "s3"):
        remedy = "Name a model of the hub with its revision, or download it and name its folder (file:///path)."
        raise Refused(Reason.MODEL_UNSUPPORTED, "model.uri", f"{parts.scheme}: is not supported yet", remedy=remedy)
    if parts.scheme != "file" or parts.netloc:
        raise Refused(
            Reason.MODEL_UNSUPPORTED,
            "model.uri",
            f"{uri} has an unknown scheme",
            remedy="Use file:///path or package:tiny.",
        )
    folder = Path(unquote(parts.path))
    if not (folder / "config.json").is_file():
        raise Refused(
            Reason.MODEL_NOT_FOUND, "model.uri", f"{uri} holds no config.json", remedy="Name a model's folder."
        )
    return folder


def checked_model(uri: str, method: MethodConfig) -> tuple[Path, ModelFigures]:
    """The folder of a model that a run of these settings can begin with. Raises Refused, which says why it cannot."""
    check_prompts(uri, method)
    folder = resolve_model(uri)
    return folder, check_model(folder, method)


def check_model(folder: Path, method: MethodConfig) -> ModelFigures:
    """Check everything that can be seen without loading the model; returns its number of experts, parameters unknown.

    Raises Refused: expert parallelism without experts, a family or layout that is not supported, a chat template that
    cannot be appended to, tensors missing, episodes longer than the model reads or shorter than their first message, or
    thinking that the model cannot be told of.
    """
    config = read_config(folder)
    experts = next((int(config[key]) for key in EXPERT_KEYS if config.get(key)), 0)
    parallelism = method.learner.parallelism
    if parallelism.expert > 1 and not experts:
        raise Refused(
            Reason.MODEL_NOT_MOE,
            "learner.parallelism.expert",
            f"is {parallelism.expert}, but the model has no experts",
            remedy="Choose a mixture-of-experts model, or set it to 1.",
        )
    try:
        family = family_of(config)
        shape = family.shape_of(config)
        family.check_layout(shape, parallelism)
        chat = load_chat(folder)
        missing = set(family.tensor_names(shape)) - tensor_names(folder.glob("*.safetensors"))
    except InvalidInput as error:
        raise Refused(Reason.MODEL_UNSUPPORTED, "model.uri", str(error)) from error
    if missing:
        raise Refused(
            Reason.MODEL_UNSUPPORTED, "model.uri", f"{len(missing)} tensors are missing: {sorted(missing)[:3]}"
        )
    if method.play.context_tokens > chat.context_tokens:
        raise Refused(
            Reason.INVALID_SPEC,
            "play.contextTokens",
            f"is {method.play.context_tokens}, but the model reads at most {chat.context_tokens} tokens",
            remedy=f"Write at most {chat.context_tokens}.",
        )
    template = template_of(method.environments.domain, method.play.prompt_template)
    needed = len(chat.prompt([{"role": "user", "content": first_message("", template)}])) + SPARE_TOKENS
    if needed >= method.play.context_tokens:
        raise Refused(
            Reason.INVALID_SPEC,
            "play.contextTokens",
            f"is {method.play.context_tokens}, but a first message without any observation already needs {needed}, so "
            "the player would never say a word",
            remedy="Raise it, or write play.promptTemplate: Compact.",
        )
    _check_thinking(chat, method)
    return ModelFigures(parameters=0, experts=experts)


def _check_thinking(chat: Chat, method: MethodConfig) -> None:
    """Refuse a role whose thinking the model's chat template cannot be told of. Raises Refused."""
    roles = (("play", method.play.thinking), ("environments.designer", method.environments.designer.thinking))
    for role, thinking in roles:
        if not chat.obeys(thinking):
            never = thinking is Thinking.ON
            message = f"is {thinking.value}, but by its chat template the model {'never' if never else 'always'} thinks"
            remedy = f"Write {Thinking.OFF.value if never else Thinking.ON.value}, or choose a hybrid model."
            raise Refused(Reason.INVALID_SPEC, f"{role}.thinking", message, remedy=remedy)


def check_prompts(uri: str, method: MethodConfig) -> None:
    """Refuse prompts that a model which we ship was not trained on: it would answer nothing to them. Raises Refused."""
    if uri not in COMPACT_ONLY:
        return
    asked = [("play.promptTemplate", method.play.prompt_template)]
    if _designs_or_hints(method):
        asked.insert(0, ("environments.designer.promptTemplate", method.environments.designer.prompt_template))
    for where, template in asked:
        if template is not PromptTemplate.COMPACT:
            message = f"is {template.value}, but {uri} knows the compact prompts only"
            raise Refused(Reason.INVALID_SPEC, where, message, remedy=f"Write {PromptTemplate.COMPACT.value}.")


def _designs_or_hints(method: MethodConfig) -> bool:
    """Whether the policy is ever shown a prompt of the designer's: for programs, or for hints that are used."""
    source, hints = method.environments.designer.source, method.environments.hints.mode
    hinted = method.play.hinted_plays > 0 and source is not DesignerSource.FAMILIES
    return source is DesignerSource.POLICY or (hints is HintMode.SELF and hinted)


def install_model(source: Path, store: Store, files: Mapping[str, str] | None = None) -> PolicyManifest:
    """Copy a model's files to policies/0000 and finish it; a finished policy 0 is left as it is.

    `files`: name → SHA-256 of what must be there; another policy 0, left by a preparation that did not end, gives way.
    Raises Refused if the copy is not these files, and OSError if storage fails under it; doing it again goes on from
    the start.
    """
    done = manifests.find(store, manifests.policy_path(0), PolicyManifest)
    if done is not None and (files is None or done.files == files):
        return done
    remove(store, manifests.policy_path(0))
    if files is not None:
        remove(store, layout.policy_folder(0))
    target = local_path(store, layout.policy_folder(0))
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(source.iterdir()):
        if file.is_file() and file.suffix in COPIED and file.name != layout.POLICY:
            _copy(file, target / file.name)
    if files is not None and (wrong := _differing(policies.describe(target, 0).files, files)):
        raise Refused(
            Reason.POLICY_NOT_FOUND,
            "model.fromRun",
            f"{source} is damaged: {', '.join(wrong[:3])} is not what its policy.json says",
            remedy="Name another version.",
        )
    return policies.finish(store, 0)


def _differing(found: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Names of files that are missing, too many, or of other content."""
    return sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))


def _copy(source: Path, target: Path) -> None:
    """Copy one file whole, durably, readable by every pod of the run."""
    temporary = target.with_name(f".{target.name}.tmp")
    shutil.copyfile(source, temporary)
    temporary.chmod(0o644)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(target)
