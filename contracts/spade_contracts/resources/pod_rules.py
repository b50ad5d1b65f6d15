"""CEL rules of pod settings, by their place in them: what the models' validators say, for `kubectl apply`."""

from collections.abc import Iterable, Mapping

from spade_contracts.resources import placement, pods, reserved, scalars, volumes
from spade_contracts.resources.rule import Rule

Rules = Mapping[str, tuple[Rule, ...]]

_EXPRESSION = (
    Rule(
        "!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)", placement.VALUES_OF_SETS
    ),
    Rule(
        "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0",
        placement.VALUES_OF_PRESENCE,
    ),
    Rule(
        "!(self.operator in ['Gt', 'Lt']) || (has(self.values) && size(self.values) == 1 && "
        "self.values[0].matches('^[0-9]+$'))",
        placement.VALUE_OF_ORDER,
    ),
)


def _refused(family: reserved.Reserved, subject: str = "self") -> Rule:
    """Refuse a text that is a reserved name."""
    return Rule(f"!{subject}.matches(r'{family.pattern}')", f"{', '.join(family.names)} {family.why}")


def _free(families: Iterable[reserved.Reserved]) -> tuple[Rule, ...]:
    """Refuse reserved names of a map. The message has all of them: computed with the guilty one it would cost too much
    for the API server, which knows no bound of a map's names.
    """
    return tuple(_free_of(family) for family in families)


def _free_of(family: reserved.Reserved) -> Rule:
    one = _refused(family, "k")
    either = "".join(f"k == '{name}' || " for name in family.but)
    but = f" (but {', '.join(family.but)})" if family.but else ""
    return Rule(f"self.all(k, {either}{one.rule})", f"{', '.join(family.names)}{but} {family.why}")


def _distinct(key: str, message: str) -> Rule:
    return Rule(f"self.all(a, self.exists_one(b, a.{key} == b.{key}))", message)


def _no_device(part: str) -> Rule:
    return Rule(f"!has(self.{part}) || self.{part}.all(k, !k.contains('/'))", pods.DEVICES_IN_SANDBOXES)


SIZE_RULE = Rule(
    f"quantity(string(self)).compareTo(quantity('{scalars.SMALLEST_SIZE}')) >= 0 && "
    f"quantity(string(self)).compareTo(quantity('{scalars.LARGEST_SIZE}')) <= 0",
    scalars.SIZE_OUT_OF_BOUNDS,
)
"""Of a disk."""
_SOURCES = ", ".join(f"has(self.{source})" for source in volumes.SOURCES)
PLACE_RULES: Rules = {
    "priorityClassName": (Rule("!self.startsWith('system-')", pods.SYSTEM_PRIORITY),),
    "tolerations[]": (
        Rule("self.operator != 'Exists' || self.value == ''", placement.VALUE_OF_EXISTS),
        Rule(
            "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
            placement.SECONDS_WITHOUT_EVICTION,
        ),
    ),
    "affinity.nodeAffinity.required[]": _EXPRESSION,
    "affinity.nodeAffinity.preferred[].matchExpressions[]": _EXPRESSION,
    "topologySpread": (_distinct("topologyKey", pods.SPREAD_TWICE),),
}
SANDBOX_POD_RULES: Rules = {**PLACE_RULES, "resources": (_no_device("requests"), _no_device("limits"))}
POD_RULES: Rules = {
    **PLACE_RULES,
    "": (
        Rule(
            "!has(self.environment) || !has(self.secretEnvironment) || "
            "self.environment.all(k, !(k in self.secretEnvironment))",
            pods.SET_TWICE,
        ),
    ),
    "labels": _free(reserved.LABELS),
    "annotations": _free(reserved.ANNOTATIONS),
    "environment": _free(reserved.ENVIRONMENT),
    "secretEnvironment": _free(reserved.SECRET_ENVIRONMENT),
    "secretEnvironment{}.secret": (_refused(reserved.SECRETS),),
    "volumes": (_distinct("mountPath", pods.MOUNTED_TWICE),),
    "volumes[]": (
        Rule(f"[{_SOURCES}].filter(given, given).size() == 1", volumes.ONE_SOURCE),
        Rule(
            "!has(self.readOnly) || self.readOnly || (!has(self.configMap) && !has(self.secret))",
            volumes.ALWAYS_READ_ONLY,
        ),
    ),
    "volumes[].emptyDir.sizeLimit": (SIZE_RULE,),
    "volumes[].secret.secretName": (_refused(reserved.SECRETS),),
}


def below(path: str, rules: Rules) -> dict[str, tuple[Rule, ...]]:
    """The rules at their places in an object whose pod settings stand at `path`."""
    return {f"{path}.{place}" if place else path: found for place, found in rules.items()}
