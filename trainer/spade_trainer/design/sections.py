"""Prompt template files: named sections of text under lines such as `=== user`.

A file holds every sentence that a prompt may need, so that its wording is read and changed in one place.
Placeholders are those of string.Template.
"""

from collections.abc import Mapping
from importlib import resources
from string import Template

MARK = "=== "


def parse_sections(text: str) -> dict[str, str]:
    """Section bodies by name, without the line breaks around them. Raises ValueError for text before the first mark
    and for a name used twice."""
    sections: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in text.splitlines():
        if line.startswith(MARK):
            name = line[len(MARK) :].strip()
            if name in sections:
                raise ValueError(f"section {name!r} appears twice")
            current = sections[name] = []
        elif current is not None:
            current.append(line)
        elif line.strip():
            raise ValueError(f"text before the first section: {line!r}")
    return {name: "\n".join(lines).strip("\n") for name, lines in sections.items()}


def load_sections(package: str, name: str) -> dict[str, str]:
    """The sections of a package's template file `templates/{name}.txt`. Raises FileNotFoundError if there is none."""
    return parse_sections((resources.files(package) / "templates" / f"{name}.txt").read_text(encoding="utf-8"))


def fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its placeholders replaced once; values are never scanned for placeholders.

    Raises KeyError for a placeholder without a value."""
    return Template(template).substitute(values)
