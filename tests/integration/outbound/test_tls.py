"""TLS towards a checked address: the certificate is that of the name, not of the address."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from parley.server.outbound.connector import guarded_session
from parley.server.outbound.errors import ConnectFailed
from parley.server.outbound.fetch import call_address
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.route import post_head
from parley.server.outbound.wires import Guard, Wires

NAME = "hooks.example"


def write_certificate(path: Path) -> None:
    """A key and a certificate for `NAME`, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, NAME)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )


class TlsServer:
    """Answers 200 and notes the server names that clients asked for."""

    def __init__(self, pem: Path) -> None:
        self.pem = pem
        self.names: list[str | None] = []
        self.port = 0
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(pem)
        self.context.sni_callback = self._note

    def _note(self, _socket: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        self.names.append(name)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()


@pytest.fixture
async def tls_server(tmp_path: Path) -> AsyncIterator[TlsServer]:
    write_certificate(tmp_path / "server.pem")
    tls = TlsServer(tmp_path / "server.pem")
    server = await asyncio.start_server(tls.serve, "127.0.0.1", 0, ssl=tls.context)
    tls.port = server.sockets[0].getsockname()[1]
    yield tls
    server.close()
    await server.wait_closed()


async def call(tls_server: TlsServer, host: str, lookup: Any) -> int:
    trusting = ssl.create_default_context(cafile=str(tls_server.pem))
    policy = OutboundPolicy.of(networks=["127.0.0.1/32"])
    async with guarded_session(policy, limit=1, lookup=lookup, tls=trusting) as session:
        answer = await call_address(
            session,
            "GET",
            f"https://{host}:{tls_server.port}/",
            headers={},
            deadline_s=5.0,
            max_body_bytes=100,
        )
    return answer.status


async def test_name_is_kept_for_tls(tls_server: TlsServer, stub_lookup: Any) -> None:
    """C102."""
    assert await call(tls_server, NAME, stub_lookup(["127.0.0.1"])) == 200
    assert tls_server.names == [NAME]


async def test_certificate_of_another_name_is_refused(tls_server: TlsServer, stub_lookup: Any) -> None:
    with pytest.raises(ConnectFailed):
        await call(tls_server, "other.example", stub_lookup(["127.0.0.1"]))


async def status_over_a_wire(tls_server: TlsServer, host: str, lookup: Any) -> int:
    trusting = ssl.create_default_context(cafile=str(tls_server.pem))
    guard = Guard(OutboundPolicy.of(networks=["127.0.0.1/32"]), lookup)
    wires = Wires(limit=1, tls=trusting, guard=guard)
    try:
        way = wires.way(f"https://{host}:{tls_server.port}/")
        wire = await wires.borrow(way.route, 5.0)
        head = await wire.ask(post_head(way, {}) + b"0\r\n\r\n")
        wires.give_back(wire)
    finally:
        await wires.close()
    return head.status


async def test_wires_keep_the_name_for_tls_and_refuse_another(
    tls_server: TlsServer, stub_lookup: Any
) -> None:
    """C102."""
    assert await status_over_a_wire(tls_server, NAME, stub_lookup(["127.0.0.1"])) == 200
    assert tls_server.names == [NAME]
    with pytest.raises(ssl.SSLCertVerificationError):
        await status_over_a_wire(tls_server, "other.example", stub_lookup(["127.0.0.1"]))
