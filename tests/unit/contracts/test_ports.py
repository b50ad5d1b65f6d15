"""Hosts and ports are written as URLs want them."""

from ipaddress import IPv4Address, IPv6Address
from urllib.parse import urlsplit

from hypothesis import given
from hypothesis import strategies as st

from spade_contracts.ports import authority

ADDRESSES = st.ip_addresses(v=4) | st.ip_addresses(v=6)


@given(ADDRESSES, st.integers(1, 65535))
def test_address_and_port_are_read_back_from_a_url(address: IPv4Address | IPv6Address, port: int) -> None:
    url = urlsplit(f"http://{authority(str(address), port)}/status")
    assert (url.hostname, url.port) == (str(address), port)


def test_version_6_is_in_brackets_and_a_name_is_as_it_is() -> None:
    assert authority("fd00::5", 7422) == "[fd00::5]:7422"
    assert authority("engine.default.svc", "443") == "engine.default.svc:443"
