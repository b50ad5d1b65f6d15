"""What the installation puts into a run's pods: the way out through a proxy, trusted certificates, marks for meshes."""

from collections.abc import Mapping

from spade_contracts.labels import Role
from spade_operator.children.site import MeshOptOut, Site
from spade_operator.children.volumes import Volume

CLIENTS = frozenset({Role.PREPARE, Role.ENGINE, Role.LEARNER, Role.WORKER})
"""Roles that may talk to the outside. A sandbox has no way there, and the beacon must see the network as it is."""
UNMESHED = frozenset({Role.SANDBOX, Role.BEACON})
"""A sidecar answers for others: a sandbox would not be closed, and a beacon would reach what is not there."""
CLUSTER_NAMES = ("localhost", "127.0.0.1", "::1", ".svc", ".cluster.local")
CA_FOLDER = "/etc/spade/ca"
CA_FILE = "ca.crt"


def labels(site: Site, role: Role) -> dict[str, str]:
    """The installation's labels for a role's pods."""
    mesh = {"sidecar.istio.io/inject": "false", "istio.io/dataplane-mode": "none"}
    return {**site.run_pods.labels, **(mesh if _opts_out(site, role) else {})}


def annotations(site: Site, role: Role) -> dict[str, str]:
    """The installation's annotations for a role's pods."""
    mesh = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
    return {**site.run_pods.annotations, **(mesh if _opts_out(site, role) else {})}


def environment(site: Site, role: Role) -> dict[str, str]:
    """Proxies and the certificates' file, where a role talks to the outside."""
    if role not in CLIENTS:
        return {}
    return _proxies(site) | _certificates(site)


def volumes(site: Site, role: Role) -> tuple[Volume, ...]:
    """The certificates, where a role talks to the outside."""
    bundle = site.ca_bundle
    if not bundle.config_map or role not in CLIENTS:
        return ()
    items = [{"key": bundle.key, "path": CA_FILE}]
    source = {"configMap": {"name": bundle.config_map, "items": items, "defaultMode": 0o444}}
    return (Volume("ca", source, CA_FOLDER, read_only=True),)


def _opts_out(site: Site, role: Role) -> bool:
    chosen = site.mesh.opt_out
    return chosen is MeshOptOut.ALL or (chosen is MeshOptOut.SANDBOXES and role in UNMESHED)


def _proxies(site: Site) -> dict[str, str]:
    """In capitals and small letters: some clients read only the one, some only the other."""
    ways = {"HTTP_PROXY": site.proxy.http, "HTTPS_PROXY": site.proxy.https}
    given: Mapping[str, str] = {name: url for name, url in ways.items() if url}
    if not given:
        return {}
    direct = ",".join(dict.fromkeys((*CLUSTER_NAMES, *site.proxy.no_proxy)))
    whole = {**given, "NO_PROXY": direct}
    return whole | {name.lower(): value for name, value in whole.items()}


def _certificates(site: Site) -> dict[str, str]:
    if not site.ca_bundle.config_map:
        return {}
    file = f"{CA_FOLDER}/{CA_FILE}"
    return {"SSL_CERT_FILE": file, "REQUESTS_CA_BUNDLE": file}
