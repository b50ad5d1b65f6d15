"""The `spade` command: one sub-command, one module.

A command imports what it needs when it is called: `spade --help` and each command load nothing of the others, which
would take seconds.
"""

import os
from typing import TYPE_CHECKING, Annotated

import typer

from spade_contracts import __version__
from spade_contracts.errors import SpadeError

if TYPE_CHECKING:
    from rich.console import Console

    from spade_cli.cluster import Run

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Kubeconfig = Annotated[str | None, typer.Option(envvar="KUBECONFIG", help="Cluster to talk to.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Namespace of the run.")]
Context = Annotated[str | None, typer.Option(help="Context of the kubeconfig; else its current one.")]
OperatorNamespace = Annotated[str, typer.Option(help="Namespace of the operator.")]
FILE = Annotated[str, typer.Argument(help="YAML file with one SpadeRun.")]


def _version(wanted: bool) -> None:
    """Print the version and end."""
    if wanted:
        typer.echo(f"spade {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Declare, watch and read SPADE runs on Kubernetes."""


@app.command()
def check(  # noqa: PLR0917  # typer calls it by name
    file: FILE,
    render: Annotated[bool, typer.Option(help="Print the resolved settings, and look at no cluster.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print each setting, its source and its meaning, and look at no cluster.")
    ] = False,
    cluster: Annotated[
        bool | None,
        typer.Option("--cluster/--offline", help="Look at the cluster or fail, or look at none; else if one answers."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = "default",
    operator_namespace: OperatorNamespace = "spade-system",
) -> None:
    """Say whether a SpadeRun would be accepted, and whether its cluster has what it needs.

    Exit code 0: nothing is known to be in its way; 1: something of the cluster is; 2: the file is wrong.
    """
    from spade_cli import check as checking
    from spade_cli.cluster import read_document

    document = read_document(file)
    method = checking.resolved(document)
    console = plain()
    if render:
        import yaml

        console.print(yaml.safe_dump(method.model_dump(mode="json", by_alias=True), sort_keys=False), highlight=False)
        return
    if explain:
        from spade_cli import explain as explaining

        for line in explaining.lines(explaining.explained(document)):
            console.print(line, highlight=False, soft_wrap=True)
        return
    console.print(f"{file}: valid; profile {method.profile}, {method.learner.ranks} learner ranks.", soft_wrap=True)
    for demand in checking.demands(document):
        console.print(demand, soft_wrap=True)
    if cluster is False:
        return
    from spade_cli.preflight import look_and_check, reach
    from spade_operator.preflight.checks import of_level
    from spade_operator.preflight.findings import Level

    try:
        api = reach(kubeconfig, context)
    except SpadeError as error:
        if cluster:
            raise
        console.print(f"No cluster was looked at: {error}", soft_wrap=True)
        return
    spec, name = checking.checked_spec(document), document["metadata"]["name"]
    findings = look_and_check(api, spec, name, namespace, operator_namespace)
    for finding in findings:
        console.print(f"{finding.level:<8}{finding.about}: {finding.words}", soft_wrap=True, highlight=False)
    if of_level(findings, Level.PROBLEM):
        raise typer.Exit(1)


@app.command()
def run(  # noqa: PLR0917  # typer calls it by name
    file: FILE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = "default",
    operator_namespace: OperatorNamespace = "spade-system",
    timeout_seconds: Annotated[float, typer.Option(help="Stop watching after this long; the run goes on.")] = 86400.0,
) -> None:
    """Apply a SpadeRun, show its progress until it ends, print the closing table. Repeating it goes on watching."""
    from spade_cli import check as checking
    from spade_cli.cluster import apply, connect, read_document

    document = read_document(file)
    checking.resolved(document)
    api = connect(kubeconfig, context)
    apply(api, document, namespace)
    watched(api, namespace, document["metadata"]["name"], operator_namespace, timeout_seconds)


@app.command()
def watch(  # noqa: PLR0917  # typer calls it by name
    name: Annotated[str, typer.Argument(help="Name of the SpadeRun.")],
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = "default",
    operator_namespace: OperatorNamespace = "spade-system",
    timeout_seconds: Annotated[float, typer.Option(help="Stop watching after this long; the run goes on.")] = 86400.0,
) -> None:
    """Show a run's progress until it ends, then the closing table."""
    from spade_cli.cluster import connect

    watched(connect(kubeconfig, context), namespace, name, operator_namespace, timeout_seconds)


@app.command()
def report(
    name: Annotated[str, typer.Argument(help="Name of the SpadeRun.")],
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = "default",
) -> None:
    """Print the table of a run's rollouts so far, and where the results lie."""
    from spade_cli.cluster import connect, get_run

    show(get_run(connect(kubeconfig, context), namespace, name), plain())


MAX_JOBS = 64
BACKEND = Annotated[
    str | None,
    typer.Option(
        metavar="docker|runsc|cells",
        help="Where programs run: docker (a container of the sandbox image) or runsc (directly), both in gVisor; or "
        "cells (no gVisor: trusted programs only). Without it the first in gVisor that works.",
    ),
]


@app.command()
def verify(  # noqa: PLR0917  # typer calls it by name
    programs: Annotated[list[str], typer.Argument(help="Program files, and folders with *.py below them.")],
    domain: Annotated[str, typer.Option(metavar="games|tools", help="What kind of programs they are.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print all verdicts as a JSON list.")] = False,
    jobs: Annotated[int, typer.Option(min=1, max=MAX_JOBS, help="Programs judged at once.")] = min(
        os.cpu_count() or 1, MAX_JOBS
    ),
    backend: BACKEND = None,
    out: Annotated[str | None, typer.Option(metavar="FILE.parquet", help="Write the verdicts there too.")] = None,
    settings: Annotated[
        str | None, typer.Option(help="YAML file with `verification` and `limits`, or a run's run.json.")
    ] = None,
) -> None:
    """Judge environment programs in a sandbox on this machine, without a cluster.

    Exit code 0: all accepted; 1: some rejected; 2: wrong usage; 3: no back-end works, or sandboxes failed.
    """
    from spade_cli import verify as verifying
    from spade_cli.interrupts import run_until_signal

    wanted = verifying.Wanted(
        tuple(programs),
        verifying.domain_of(domain),
        as_json,
        jobs,
        verifying.backend_of(backend),
        verifying.checked_out(out),
        verifying.read_settings(settings),
    )
    raise typer.Exit(run_until_signal(verifying.verify(wanted, verifying.to_stdout, verifying.to_stderr)))


@app.command()
def replay(
    file: Annotated[
        str, typer.Argument(help="Verdicts (JSON or Parquet) or a run's rollouts/NNNN/episodes-….parquet.")
    ],
    index: Annotated[int | None, typer.Option(min=0, help="Which record of the file, from 0.")] = None,
    program: Annotated[str | None, typer.Option(help="The verdict's program, if it lies elsewhere now.")] = None,
    backend: BACKEND = None,
) -> None:
    """Do the evidence of a verdict, or an episode, again in a cell and show where it differs.

    Exit code 0: all answers are the same; 1: some differ; 2: wrong usage; 3: no back-end works, or it failed.
    """
    from spade_cli import replay as replaying
    from spade_cli.interrupts import run_until_signal
    from spade_cli.verify import backend_of, to_stderr, to_stdout

    wanted = replaying.Wanted(file, index, program, backend_of(backend))
    raise typer.Exit(run_until_signal(replaying.replay_record(wanted, to_stdout, to_stderr)))


@app.command("show")
def show_records(
    file: Annotated[
        str, typer.Argument(help="A run's designs-, canaries-, verdicts- or episodes-….parquet, or its rollout.json.")
    ],
    index: Annotated[int | None, typer.Option(min=0, help="Which record to show, from 0; else all are listed.")] = None,
    out: Annotated[str | None, typer.Option(metavar="FILE", help="Write the record's program there instead.")] = None,
) -> None:
    """List the records of a result file, show one as text, or write its program to a file.

    Exit code 0: shown; 2: the file, the index or --out is wrong.
    """
    from spade_cli import show as showing
    from spade_cli.verify import checked_out, to_stdout

    showing.show(showing.Wanted(file, index, checked_out(out)), to_stdout)


@app.command()
def score(
    file: Annotated[str, typer.Argument(help="JSON file, or - for standard input.")],
    batch: Annotated[bool, typer.Option("--batch", help="The file holds plays and designs of one batch.")] = False,
    loss: Annotated[bool, typer.Option("--loss", help="The file holds log-probabilities of one step.")] = False,
) -> None:
    """Compute rewards and advantages of a window of returns, or a batch, or a loss, with every term, as JSON.

    docs/scoring.md has the formats. Exit code 0: scored; 2: the file is wrong.
    """
    from spade_cli import score as scoring

    print(scoring.scores(file, batch=batch, loss=loss), flush=True)


@app.command()
def export(  # noqa: PLR0917  # typer calls it by name
    source: Annotated[
        str,
        typer.Argument(
            help="Name of a SpadeRun in the cluster; or a run's folder: a path, file:///PATH or a URI of fsspec (s3://…)."
        ),
    ],
    target: Annotated[str, typer.Argument(help="Where to: an empty or new folder, or a URI of fsspec (s3://…).")],
    policy: Annotated[
        int | None,
        typer.Option(min=0, help="Policy version. Without it the newest: of a run's name the newest that was proven."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    namespace: Namespace = "default",
    image: Annotated[
        str | None, typer.Option(help="Image of the pod that reads the claim, in place of the run's own.")
    ] = None,
    image_pull_secret: Annotated[str | None, typer.Option(help="Secret that opens the image's registry.")] = None,
) -> None:
    """Copy a policy out of a run's storage as a Hugging Face folder; every checksum is compared on both sides.

    A run's name needs the rights to create, get and delete pods and to execute in them, in its namespace.
    """
    from spade_cli import export as exporting

    if exporting.is_name(source):
        from spade_cli.cluster import connect, get_run

        api = connect(kubeconfig, context)
        found = get_run(api, namespace, source)
        done = exporting.export_from_cluster(api, found, policy, target, image=image, pull_secret=image_pull_secret)
    else:
        done = exporting.export_from_storage(source, policy, target)
    size = f"{done.files} files, {done.bytes / 2**20:.1f} MiB"
    plain().print(f"Policy version {done.policy_version} is in {done.target}: {size}, checksums equal.", soft_wrap=True)


def plain(*, stderr: bool = False) -> "Console":
    """A console that shows what it is given: file names and log lines may look like rich's markup."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False)


def watched(api: object, namespace: str, name: str, operator_namespace: str, timeout_seconds: float) -> None:
    """Follow, show, and exit 1 unless the run is complete."""
    from spade_cli.watch import condition, follow
    from spade_contracts.resources import RunCondition

    console = plain()
    seen = follow(
        api, namespace, name, operator_namespace=operator_namespace, timeout_seconds=timeout_seconds, console=console
    )
    show(seen, console)
    if not condition(seen.status, RunCondition.COMPLETE)[0]:
        raise typer.Exit(1)


def show(seen: "Run", console: "Console") -> None:
    """The closing table, the verdict and the place of the results."""
    from spade_cli.table import closing_tables, legend
    from spade_cli.watch import condition, refused
    from spade_contracts.resources import Reason, RunCondition

    if seen.status.rollouts:
        console.print(*closing_tables(seen.status), sep="")
    for line in legend(seen.status):
        console.print(line, soft_wrap=True)
    named = f"SpadeRun {seen.namespace}/{seen.name}"
    failed, reason, message = condition(seen.status, RunCondition.FAILED)
    if condition(seen.status, RunCondition.COMPLETE)[0]:
        console.print(f"{named} is complete at policy version {seen.status.policy_version}.")
    elif failed:
        console.print(f"{named} failed, {reason}: {message}")
    elif (rest := condition(seen.status, RunCondition.SUSPENDED))[0] and rest[1] == Reason.QUEUED:
        console.print(f"{named} waits in its queue. {rest[2]}", soft_wrap=True)
    elif rest[0]:
        console.print(f"{named} is suspended. Set spec.suspend: Never to go on.")
    elif why := refused(seen):
        console.print(f"{named} cannot start: {why}")
    else:
        console.print(f"{named} goes on: {seen.status.doing or seen.status.phase}.")
    if seen.status.storage_uri:
        claim = seen.spec.storage.claim_name or f"{seen.name}-storage"
        mounted = f" in PersistentVolumeClaim {seen.namespace}/{claim}" if seen.spec.storage.s3 is None else ""
        console.print(f"Results: {seen.status.storage_uri}{mounted}", soft_wrap=True)


def main() -> None:
    """Entry point: our errors are one line and exit code 2, an interrupt is 130, everything else is a bug and shows
    itself.
    """
    try:
        app()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except SpadeError as error:
        plain(stderr=True).print(f"error: {error}", style="red", highlight=False, soft_wrap=True)
        raise SystemExit(2) from error


if __name__ == "__main__":
    main()
