"""Taking the cluster's firewall rules away leaves everybody else's."""

from spade_cluster.network import chain_removal

SAVED = """*filter
:INPUT ACCEPT [0:0]
:DOCKER - [0:0]
:KUBE-ROUTER-INPUT - [0:0]
:KUBE-POD-FW-ABC - [0:0]
-A INPUT -p tcp --dport 22 -j ACCEPT
-A INPUT -m comment --comment "kube-router netpol" -j KUBE-ROUTER-INPUT
-A DOCKER -j RETURN
-A KUBE-ROUTER-INPUT -d 10.244.0.2/32 -j KUBE-POD-FW-ABC
COMMIT
"""


def test_our_chains_and_the_jumps_into_them_go() -> None:
    script = chain_removal(SAVED, "filter")
    assert script is not None
    assert script.splitlines() == [
        "*filter",
        '-D INPUT -m comment --comment "kube-router netpol" -j KUBE-ROUTER-INPUT',
        "-F KUBE-ROUTER-INPUT",
        "-F KUBE-POD-FW-ABC",
        "-X KUBE-ROUTER-INPUT",
        "-X KUBE-POD-FW-ABC",
        "COMMIT",
    ]


def test_table_without_our_chains_is_left_alone() -> None:
    assert chain_removal("*nat\n:DOCKER - [0:0]\n-A DOCKER -j RETURN\nCOMMIT\n", "nat") is None
