"""The `spade` command: one sub-command, one module."""

from typing import Annotated

import typer
import yaml
from rich.console import Console

from spade_cli import check as checking
from spade_cli.cluster import Run, apply, connect, get_run, read_document
from spade_cli.table import closing_tables
from spade_cli.watch import condition, follow, refused
from spade_contracts.errors import SpadeError
from spade_contracts.resources import RunCondition

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Declare, watch and read SPADE runs on Kubernetes.",
    pretty_exceptions_enable=False,
)
Kubeconfig = Annotated[str | None, typer.Option(envvar="KUBECONFIG", help="Cluster to talk to.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the run.")]
OperatorNamespace = Annotated[str, typer.Option(help="Namespace of the operator.")]
FILE = Annotated[str, typer.Argument(help="YAML file with one SpadeRun.")]


@app.command()
def check(file: FILE, render: Annotated[bool, typer.Option(help="Print the resolved settings.")] = False) -> None:
    """Say whether a SpadeRun would be accepted, without a cluster."""
    method = checking.resolved(read_document(file))
    console = plain()
    if render:
        console.print(yaml.safe_dump(method.model_dump(mode="json", by_alias=True), sort_keys=False), highlight=False)
    else:
        console.print(f"{file}: valid; profile {method.profile}, {method.learner.ranks} learner ranks.")


@app.command()
def run(
    file: FILE,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = "default",
    operator_namespace: OperatorNamespace = "spade-system",
    timeout_seconds: Annotated[float, typer.Option(help="Stop watching after this long; the run goes on.")] = 86400.0,
) -> None:
    """Apply a SpadeRun, show its progress until it ends, print the closing table. Repeating it goes on watching."""
    document = read_document(file)
    checking.resolved(document)
    api = connect(kubeconfig)
    apply(api, document, namespace)
    watched(api, namespace, document["metadata"]["name"], operator_namespace, timeout_seconds)


@app.command()
def watch(
    name: Annotated[str, typer.Argument(help="Name of the SpadeRun.")],
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = "default",
    operator_namespace: OperatorNamespace = "spade-system",
    timeout_seconds: Annotated[float, typer.Option(help="Stop watching after this long; the run goes on.")] = 86400.0,
) -> None:
    """Show a run's progress until it ends, then the closing table."""
    watched(connect(kubeconfig), namespace, name, operator_namespace, timeout_seconds)


@app.command()
def report(
    name: Annotated[str, typer.Argument(help="Name of the SpadeRun.")],
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = "default",
) -> None:
    """Print the table of a run's rollouts so far, and where the results lie."""
    show(get_run(connect(kubeconfig), namespace, name), plain())


def plain(*, stderr: bool = False) -> Console:
    """A console that shows what it is given: file names and log lines may look like rich's markup."""
    return Console(stderr=stderr, markup=False, emoji=False)


def watched(api: object, namespace: str, name: str, operator_namespace: str, timeout_seconds: float) -> None:
    """Follow, show, and exit 1 unless the run is complete."""
    console = plain()
    seen = follow(
        api, namespace, name, operator_namespace=operator_namespace, timeout_seconds=timeout_seconds, console=console
    )
    show(seen, console)
    if not condition(seen.status, RunCondition.COMPLETE)[0]:
        raise typer.Exit(1)


def show(seen: Run, console: Console) -> None:
    """The closing table, the verdict and the place of the results."""
    console.print(*closing_tables(seen.status), sep="")
    named = f"SpadeRun {seen.namespace}/{seen.name}"
    failed, reason, message = condition(seen.status, RunCondition.FAILED)
    if condition(seen.status, RunCondition.COMPLETE)[0]:
        console.print(f"{named} is complete at policy version {seen.status.policy_version}.")
    elif failed:
        console.print(f"{named} failed, {reason}: {message}")
    elif why := refused(seen):
        console.print(f"{named} cannot start: {why}")
    else:
        console.print(f"{named} goes on: {seen.status.doing or seen.status.phase}.")
    if seen.status.storage_uri:
        claim = seen.spec.storage.claim_name or f"{seen.name}-storage"
        console.print(f"Results: {seen.status.storage_uri} in PersistentVolumeClaim {seen.namespace}/{claim}")


def main() -> None:
    """Entry point: our errors are one line and exit code 2, everything else is a bug and shows itself."""
    try:
        app()
    except SpadeError as error:
        plain(stderr=True).print(f"error: {error}", style="red", highlight=False, soft_wrap=True)
        raise SystemExit(2) from error


if __name__ == "__main__":
    main()
