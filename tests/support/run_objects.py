"""SpadeRuns as users write them, for tests of what the API server takes."""

from typing import Any


def run_object(name: str, namespace: str = "default", **spec: Any) -> dict[str, Any]:
    """The smallest run, with fields of spec over it."""
    return {
        "apiVersion": "spade.dev/v1alpha1",
        "kind": "SpadeRun",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"model": {"uri": "package:tiny"}, "rollouts": 4, **spec},
    }
