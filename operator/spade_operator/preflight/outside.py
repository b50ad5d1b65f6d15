"""What a run must reach beyond its own pods."""

from spade_contracts.config.environments import DesignerSource, HintMode
from spade_contracts.config.verification import OptionalStage
from spade_contracts.resources import SpadeRunSpec
from spade_operator.preflight.findings import joined

BUCKET = "s3://"
REMEDY = "Have their addresses added to egress.cidrs, or their pods to egress.pods, in the chart's values."


def outside(spec: SpadeRunSpec) -> tuple[str, ...]:
    """What is reached, each with the field that says so. Raises InvalidInput for a spec that resolves to nothing."""
    settings = spec.method().environments
    judged = OptionalStage.JUDGE in settings.verification.stages
    asked = {
        "designer.endpoint": (settings.designer.endpoint.url, settings.designer.source is DesignerSource.ENDPOINT),
        "hints.endpoint": (settings.hints.endpoint.url, settings.hints.mode is HintMode.ENDPOINT),
        "verification.judge": (settings.verification.judge.url, judged),
        "corpus": (settings.corpus.uri, settings.corpus.uri.startswith(BUCKET)),
    }
    found = [f"{url} (spec.environments.{field})" for field, (url, wanted) in asked.items() if wanted]
    if spec.model.revision is not None:
        found.insert(0, "the hub of Hugging Face (spec.model.uri)")
    if spec.storage.s3 is not None:
        found.append(f"{spec.storage.s3.endpoint_url or spec.storage.s3.uri} (spec.storage.s3)")
    return tuple(found)


def demands(spec: SpadeRunSpec) -> tuple[str, ...]:
    """The same as a sentence for who sees no installation."""
    found = outside(spec)
    return (f"Its pods must reach {joined(found, 6)}. {REMEDY}",) if found else ()
