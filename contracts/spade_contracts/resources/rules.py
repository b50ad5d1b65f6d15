"""CEL rules of the three kinds: what one field's bounds cannot say (design §5).

Transition rules stand at the parent of the field they protect, so that adding and removing it is seen too. Every
message says what to write. Rules use what the profiles fill in, because a field left out has no value in the object.

The API server forgives a broken rule where nothing below the rule's place changed. So a rule stands as deep as it can,
and one about what cannot change is judged once: an older object that a newer rule refuses can still be suspended.
"""

from collections.abc import Mapping
from typing import Any

from spade_contracts.config.environments import ASKED, DesignerSource, Domain, HintMode
from spade_contracts.config.method import Profile
from spade_contracts.config.profile import corrected_defaults, paper_defaults
from spade_contracts.config.skills import known_skills
from spade_contracts.config.switches import LogProbTemperature
from spade_contracts.config.verification import JudgeSource, OptionalStage
from spade_contracts.labels import BATCH_FAMILY_SUFFIX
from spade_contracts.resources import colocation
from spade_contracts.resources.pod_rules import POD_RULES, SANDBOX_POD_RULES, SIZE_RULE, below
from spade_contracts.resources.rule import Rule
from spade_contracts.resources.run_parts import ENGINE_ARGS, MAX_RUN_NAME, PACKAGES

MAX_CHILD_NAME = MAX_RUN_NAME + 8


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f"'{value}'"
    return str(value)


def _default(path: str) -> str:
    """CEL of the profile's default at a path of field names, seen from `spec`."""
    tools, games = (_default_of(domain, path) for domain in (Domain.TOOLS, Domain.GAMES))
    is_tools = f"{_has('environments.domain')} && self.environments.domain == '{Domain.TOOLS}'"
    return games if games == tools else f"({is_tools} ? {tools} : {games})"


def _default_of(domain: Domain, path: str) -> str:
    """The same within one domain."""
    values: list[Any] = []
    for defaults in (corrected_defaults(domain), paper_defaults(domain)):
        value: Any = defaults
        for name in path.split("."):
            value = value[name]
        values.append(len(value) if isinstance(value, tuple) else value)
    corrected, paper = (_literal(value) for value in values)
    return corrected if corrected == paper else f"(self.profile == '{Profile.CORRECTED}' ? {corrected} : {paper})"


def _has(path: str, root: str = "self") -> str:
    """Whether the field exists, its parents included. Optional chains would be shorter, but the API server's cost
    estimate loses the size of what they hold and refuses them.
    """
    names = path.split(".")
    return " && ".join(f"has({'.'.join([root, *names[: depth + 1]])})" for depth in range(len(names)))


def _or(path: str, otherwise: str) -> str:
    """The field's value, or `otherwise` where it is left out."""
    return f"({_has(path)} ? self.{path} : {otherwise})"


def _same(path: str) -> str:
    """The field is as it was: equal, or absent before and now."""
    now, before = _has(path), _has(path, "oldSelf")
    return f"(({now}) == ({before}) && (!({now}) || self.{path} == oldSelf.{path}))"


def _frozen(field: str, what: str, kind: str = "SpadeRun", thing: str = "run") -> Rule:
    return Rule(
        _same(field),
        f"{what} cannot change once the {thing} exists: make a new {kind} with another name",
        field="." + field.split(".", maxsplit=1)[0],
    )


def _grows(field: str, message: str) -> Rule:
    return Rule(f"{_or(field, '0')} >= {_or(field, '0').replace('self', 'oldSelf')}", message, field=f".{field}")


def _needs_pause(field: str) -> Rule:
    paused = "!has(self.status) || !has(self.status.phase) || self.status.phase in ['Pending', 'Suspended', 'Failed']"
    return Rule(
        f"{paused} || {_same(field)}",
        f"{field} can change only while the run is suspended or failed: set spec.suspend, wait for phase Suspended, "
        "then change it",
        field=f".{field}",
    )


def _whole_distribution(where: str) -> Rule:
    """The learner cannot renormalise a cut distribution (design §9)."""
    top_p = _or(f"{where}.sampling.topP", _default(f"{where}.sampling.top_p"))
    top_k = _or(f"{where}.sampling.topK", _default(f"{where}.sampling.top_k"))
    temperature = _or("switches.logProbTemperature", _default("switches.log_prob_temperature"))
    return Rule(
        f"{temperature} != '{LogProbTemperature.SAMPLING}' || ({top_p} == 1.0 && {top_k} <= 0)",
        f"spec.{where}.sampling cuts the distribution, which the learner cannot renormalise: write topP: 1 and "
        "topK: -1, or switches.logProbTemperature: One",
        field="." + where.split(".", maxsplit=1)[0],
        once=True,
    )


_RANKS = "(self.learner.nodes * self.learner.ranksPerNode)"
_DENSE = "(self.learner.parallelism.tensor * self.learner.parallelism.pipeline * self.learner.parallelism.context)"
_EXPERT = "(self.learner.parallelism.expert * self.learner.parallelism.pipeline)"


def _divisible(divisor: str, words: str) -> Rule:
    return Rule(
        f"{_RANKS} % {divisor} == 0",
        f"spec.learner: nodes x ranksPerNode must be a multiple of {words}: change nodes, ranksPerNode or parallelism",
        f"'spec.learner has %d ranks (nodes x ranksPerNode), which must be a multiple of {words} = %d: change nodes, "
        f"ranksPerNode or parallelism'.format([{_RANKS}, {divisor}])",
        field=".learner",
        once=True,
    )


_SKILLS = f"({_has('environments.skills')} ? size(self.environments.skills) : {_default('environments.skills')})"
_ACTIVE = _or("environments.activeSkills", _default("environments.active_skills"))
_LOW = _or("rewards.plateau.low", _default("rewards.plateau.low"))
_HIGH = _or("rewards.plateau.high", _default("rewards.plateau.high"))

METHOD_FIELDS = {
    "profile": "spec.profile",
    "seed": "spec.seed",
    "model": "spec.model",
    "environments": "spec.environments",
    "play": "spec.play",
    "rewards": "spec.rewards",
    "switches": "spec.switches",
    "storage.claimName": "spec.storage.claimName",
    "storage.size": "spec.storage.size",
    "storage.storageClassName": "spec.storage.storageClassName",
    "storage.accessMode": "spec.storage.accessMode",
    "storage.s3": "spec.storage.s3",
    "learner.nodes": "spec.learner.nodes",
    "learner.ranksPerNode": "spec.learner.ranksPerNode",
    "learner.parallelism": "spec.learner.parallelism",
    "learner.optimizer": "spec.learner.optimizer",
    "learner.loss": "spec.learner.loss",
    "learner.checkpointEvery": "spec.learner.checkpointEvery",
    "sandbox.limits": "spec.sandbox.limits",
}
"""Fields below spec that decide a run's numbers, or where its results lie."""
POD_FIELDS = (
    "spec.learner.pod",
    "spec.placement",
    "spec.learner.fabric",
    "spec.learner.deviceClaimTemplate",
    "spec.engine.pod",
    "spec.sandbox.pod",
    "spec.workers.pod",
    "spec.storage.stagingSize",
    "spec.engine.args",
    "spec.queueName",
)


def _name(limit: int) -> Rule:
    return Rule(
        f"self.metadata.name.size() <= {limit} && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
        f"the names of pods and services are made from metadata.name: use at most {limit} lower-case letters, digits "
        "and dashes, beginning with a letter",
        once=True,
    )


def _immutable(kind: str) -> Rule:
    return Rule("self == oldSelf", f"the spec of a {kind} cannot change: make a new one")


def _size(field: str) -> Rule:
    return Rule(SIZE_RULE.rule, f"spec.storage.{field}: {SIZE_RULE.message}")


_MIN_MAX_PODS = Rule(
    "!has(self.minPods) || !has(self.maxPods) || self.minPods <= self.maxPods",
    "spec.sandbox.minPods is more than maxPods: lower minPods or raise maxPods",
    "'spec.sandbox.minPods (%d) is more than maxPods (%d): lower minPods or raise maxPods'"
    ".format([self.minPods, self.maxPods])",
)
_NOT_ASKED = ", ".join(_literal(source.value) for source in DesignerSource if source not in ASKED)


def _written(path: str) -> str:
    """Whether a text is there and not empty."""
    return f"({_has(path)} && self.{path} != '')"


def _skills(domain: Domain) -> str:
    """Both spellings of a domain's skills, as a list."""
    names = {spelt for name in known_skills(domain) for spelt in (name, name.replace(" ", "_"))}
    return f"[{', '.join(map(_literal, sorted(names)))}]"


def _endpoint_needs_url(choice: str, value: str, where: str) -> Rule:
    return Rule(
        f"!has(self.{choice}) || self.{choice} != '{value}' || ({_written('endpoint.url')} && "
        f"{_written('endpoint.model')})",
        f"{where} with {choice} {value} needs endpoint.url and endpoint.model: write the base URL of an "
        "OpenAI-compatible endpoint and the model's name there",
    )


DESIGNER_RULES: Mapping[str, tuple[Rule, ...]] = {
    "spec.environments": (
        Rule(
            f"!has(self.skills) || (has(self.designer) && has(self.designer.source) && self.designer.source in "
            f"[{_NOT_ASKED}]) || self.skills.all(s, s in (has(self.domain) && self.domain == '{Domain.TOOLS}' ? "
            f"{_skills(Domain.TOOLS)} : {_skills(Domain.GAMES)}))",
            "spec.environments.skills names a skill that the domain has not: of Games use "
            f"{', '.join(known_skills(Domain.GAMES))}; of Tools {', '.join(known_skills(Domain.TOOLS))}",
            field=".skills",
        ),
    ),
    "spec.environments.designer": (
        _endpoint_needs_url("source", DesignerSource.ENDPOINT, "spec.environments.designer"),
        Rule(
            f"!has(self.source) || self.source != '{DesignerSource.POOL}' || ({_written('pool.uri')} && "
            f"{_written('pool.sha256')})",
            "spec.environments.designer with source Pool needs pool.uri and pool.sha256: write the pool's file:///PATH "
            "and its digest",
        ),
    ),
    "spec.environments.hints": (_endpoint_needs_url("mode", HintMode.ENDPOINT, "spec.environments.hints"),),
    "spec.environments.verification": (
        Rule(
            f"!has(self.stages) || !('{OptionalStage.JUDGE}' in self.stages) || (has(self.judge) && "
            f"has(self.judge.source) && self.judge.source == '{JudgeSource.POLICY}') || {_written('judge.url')}",
            "spec.environments.verification.stages holds Judge, which needs judge.url: write the base URL of an "
            "OpenAI-compatible endpoint, or judge.source: Policy, or remove Judge",
        ),
    ),
}
"""What the designer, its hints and its judge cannot do without."""
_RETRY = "spec.retry counts tries: write a larger number to try again"


SPADE_RUN_RULES: Mapping[str, tuple[Rule, ...]] = {
    "": (
        _name(MAX_RUN_NAME),
        Rule(
            f"!self.metadata.name.endsWith('{BATCH_FAMILY_SUFFIX}')",
            f"names ending in {BATCH_FAMILY_SUFFIX} are kept for the pods of stand-alone EnvBatches: use another name",
            once=True,
        ),
        Rule(
            "!has(self.spec.model.fromRun) || self.spec.model.fromRun.name != self.metadata.name",
            "spec.model.fromRun names the run itself: name another run, or write spec.model.uri",
            field=".spec.model",
            once=True,
        ),
        *(_needs_pause(field) for field in POD_FIELDS),
    ),
    "spec": (
        *(_frozen(field, what) for field, what in METHOD_FIELDS.items()),
        Rule(
            "self.rollouts >= oldSelf.rollouts",
            "spec.rollouts may only grow: write at least the number that was there",
            "'spec.rollouts may only grow: write %d or more'.format([oldSelf.rollouts])",
            field=".rollouts",
        ),
        _grows("retry", _RETRY),
        Rule(
            f"{_ACTIVE} <= {_SKILLS}",
            "spec.environments.activeSkills is more than there are skills: name more skills or lower it",
            f"'spec.environments.activeSkills (%d) is more than the %d skills: name more skills or lower it'"
            f".format([{_ACTIVE}, {_SKILLS}])",
            field=".environments",
            once=True,
        ),
        Rule(
            f"{_LOW} <= {_HIGH}",
            "spec.rewards.plateau.low is above high: write the smaller value as low",
            field=".rewards",
            once=True,
        ),
        _whole_distribution("environments.designer"),
        _whole_distribution("play"),
        *colocation.RULES,
        _divisible(_DENSE, "tensor x pipeline x context"),
        _divisible(_EXPERT, "expert x pipeline"),
    ),
    "spec.model": (
        Rule(
            "has(self.revision) == (has(self.uri) && self.uri.startsWith('hf:'))",
            "spec.model.revision is the commit of a model of the hub: write it with hf: and only with it",
        ),
        Rule("has(self.uri) != has(self.fromRun)", "spec.model has one source: write either uri or fromRun"),
        Rule(
            f"!has(self.uri) || !self.uri.startsWith('package:') || self.uri in [{', '.join(map(_literal, PACKAGES))}]",
            f"spec.model.uri names a model that is not shipped: write {' or '.join(PACKAGES)}, file:///PATH or "
            "hf:ORGANISATION/NAME",
            field=".uri",
        ),
    ),
    "spec.storage": (
        Rule(
            "!has(self.s3) || (!has(self.claimName) && !has(self.storageClassName))",
            "spec.storage is in one place: write either s3, or claimName or storageClassName",
        ),
    ),
    **DESIGNER_RULES,
    "spec.storage.size": (_size("size"),),
    "spec.storage.stagingSize": (_size("stagingSize"),),
    "spec.environments.skills": (
        Rule("self.all(s, self.exists_one(t, t == s))", "spec.environments.skills names a skill twice: name each once"),
    ),
    "spec.engine.args": (
        Rule(
            f"self.all(k, k in [{', '.join(map(_literal, ENGINE_ARGS))}])",
            f"spec.engine.args may change speed, memory and layout only: use of {', '.join(ENGINE_ARGS)}",
        ),
    ),
    "spec.sandbox": (_MIN_MAX_PODS,),
    **below("spec.learner.pod", POD_RULES),
    **below("spec.engine.pod", POD_RULES),
    **below("spec.workers.pod", POD_RULES),
    **below("spec.sandbox.pod", SANDBOX_POD_RULES),
}
OF_A_RUN = ("cycle", "policyVersion")
OF_A_POOL = ("verification", "storage", "sandbox", "pod", "restarts", "suspend", "retry", "ttlSecondsAfterFinished")
BATCH_FROZEN = (
    "run", "cycle", "rollout", "policyVersion", "workers", "source", "verification", "storage", "sandbox.limits",
)  # fmt: skip
"""What decides an EnvBatch's verdicts, or where they lie."""
_PROGRAMS = "self.source.programs"


def _none_of(fields: tuple[str, ...]) -> str:
    return " && ".join(f"!has(self.{field})" for field in fields)


ENV_BATCH_RULES: Mapping[str, tuple[Rule, ...]] = {
    "": (_name(MAX_CHILD_NAME),),
    "spec": (
        Rule(
            "has(self.run) != has(self.source)",
            "write spec.source to have existing programs verified; spec.run is the operator's, and never stands beside "
            "it",
            once=True,
        ),
        Rule(
            f"!has(self.run) || ({' && '.join(f'has(self.{field})' for field in OF_A_RUN)} && {_none_of(OF_A_POOL)})",
            "an EnvBatch of a run has cycle and policyVersion and nothing that its SpadeRun says: use spec.source for "
            "programs without a run",
        ),
        Rule(
            f"!has(self.source) || ({_none_of((*OF_A_RUN, 'rollout'))})",
            "cycle and policyVersion are a run's, and so is rollout: use spec.source without them",
            field=".source",
            once=True,
        ),
        Rule(
            "!has(self.source) || has(self.storage)",
            "spec.storage.claimName is missing: name the claim that holds the programs",
            field=".storage",
            once=True,
        ),
        Rule(
            f"!has(self.source) || ({_PROGRAMS}.startsWith('file:///storage/') && !{_PROGRAMS}.contains('/..'))",
            "spec.source.programs must lie in the claim, which pods see at /storage: write file:///storage/PATH",
            field=".source.programs",
            once=True,
        ),
        Rule(
            "!has(self.source) || !has(self.verification) || !has(self.verification.judge) || "
            f"!has(self.verification.judge.source) || self.verification.judge.source != '{JudgeSource.POLICY}'",
            "spec.verification.judge.source: without a run there is no policy that could judge: write Endpoint",
            field=".verification",
            once=True,
        ),
        _grows("retry", _RETRY),
        *(_frozen(field, f"spec.{field}", "EnvBatch", "batch") for field in BATCH_FROZEN),
    ),
    "spec.sandbox": (_MIN_MAX_PODS,),
    **below("spec.pod", POD_RULES),
    **below("spec.sandbox.pod", SANDBOX_POD_RULES),
}
ROLLOUT_JOB_RULES: Mapping[str, tuple[Rule, ...]] = {"": (_name(MAX_CHILD_NAME),), "spec": (_immutable("RolloutJob"),)}
