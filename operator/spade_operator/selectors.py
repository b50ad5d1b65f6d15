"""Label selectors of Kubernetes, as its controllers and its scheduler read them."""

from collections.abc import Mapping
from dataclasses import dataclass

from spade_operator.containers import Raw


@dataclass(frozen=True)
class Expression:
    """One of a selector's expressions."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        """Whether what has these labels fits. Of an operator that is not known: yes, because it may."""
        value = labels.get(self.key)
        answers = {
            "In": value in self.values,
            "NotIn": value not in self.values,
            "Exists": value is not None,
            "DoesNotExist": value is None,
            "Gt": self._compared(value) > 0,
            "Lt": self._compared(value) < 0,
        }
        return answers.get(self.operator, True)

    def _compared(self, value: str | None) -> int:
        """The sign of value - bound; 0, which fits neither, where one of them is no number."""
        try:
            difference = int(value or "") - int(self.values[0])
        except (ValueError, IndexError):
            return 0
        return (difference > 0) - (difference < 0)


def expressions_of(raw: list[Raw] | None) -> tuple[Expression, ...]:
    """The `matchExpressions` of a selector."""
    return tuple(Expression(one["key"], one["operator"], tuple(one.get("values") or ())) for one in raw or ())
