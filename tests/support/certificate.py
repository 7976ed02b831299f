"""Certificates of an authority that only tests believe."""

import ssl
from datetime import datetime
from pathlib import Path

import trustme
from cryptography import x509


class Authority:
    """Signs certificates into a folder: `cert.pem` and `key.pem`, and its own as `ca.pem`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = trustme.CA()
        self.ca = folder / "ca.pem"
        self.cert = folder / "cert.pem"
        self.key = folder / "key.pem"
        self._authority.cert_pem.write_to_path(self.ca)

    def issue(
        self, *names: str, not_before: datetime | None = None, not_after: datetime | None = None
    ) -> x509.Certificate:
        """Writes a new certificate and key in the place of the old ones; without names, for 127.0.0.1."""
        names = names or ("127.0.0.1", "localhost")
        issued = self._authority.issue_cert(*names, not_before=not_before, not_after=not_after)
        pems = [blob.bytes() for blob in issued.cert_chain_pems]
        self.cert.write_bytes(b"".join(pems))
        issued.private_key_pem.write_to_path(self.key)
        self.key.chmod(0o600)
        return x509.load_pem_x509_certificate(pems[0])

    def client(self) -> ssl.SSLContext:
        """For a client that believes this authority."""
        return ssl.create_default_context(cafile=str(self.ca))
