"""The demands on a prompt, as they are listed beside its template."""

from importlib import resources


def demands_of(package: str, template: str) -> list[tuple[str, str]]:
    """What each demand of a template is called, and the words that make it, in the order of its file."""
    text = (resources.files(package) / "templates" / f"{template}.demands.txt").read_text()
    return [(demand, words) for demand, _, words in (line.partition(": ") for line in text.splitlines())]
