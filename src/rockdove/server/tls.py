"""TLS: the context that new connections get, made from a certificate and its key."""

import logging
import ssl
import stat
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from msgspec import Struct

from rockdove.core.errors import RockdoveError

# For TLS 1.2, only what has forward secrecy and authenticates what it encrypts; TLS 1.3 has nothing else.
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
# Keys that others can read, of which somebody was warned.
_WARNED: set[Path] = set()

log = logging.getLogger("rockdove")


class TlsError(RockdoveError):
    """The certificate or its key cannot be used."""


class Names(Struct, frozen=True):
    """Under which names and addresses clients believe a certificate, and whether it vouches for itself."""

    hosts: list[str]
    self_signed: bool


class Certificate:
    """The two files; `load` reads them anew."""

    def __init__(self, certificate: Path, key: Path) -> None:
        self._path = certificate
        self._key = key

    def load(self, now: datetime | None = None) -> ssl.SSLContext:
        """Raises `TlsError` with what is wrong, and what to do about it."""
        self._check_dates(now or datetime.now(UTC))
        _read(self._key, "key")
        self._check_access()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(_CIPHERS)
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE | ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(self._path, self._key, self._no_password)
        except ssl.SSLError as error:
            raise TlsError(self._why(error)) from None
        return context

    def names(self) -> Names:
        certificate = self._parse()
        try:
            found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            hosts = []
        else:
            addresses = map(str, found.get_values_for_type(x509.IPAddress))
            hosts = [*found.get_values_for_type(x509.DNSName), *addresses]
        return Names(hosts, certificate.issuer == certificate.subject)

    def _parse(self) -> x509.Certificate:
        """The service's own certificate, which stands before those that sign it."""
        data = _read(self._path, "certificate")
        try:
            return x509.load_pem_x509_certificates(data)[0]
        except ValueError:
            raise TlsError(f"the TLS certificate {self._path} is not a certificate in PEM form") from None

    def _check_dates(self, now: datetime) -> None:
        certificate = self._parse()
        first, last = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        if now > last:
            raise TlsError(f"the TLS certificate {self._path} expired on {last:%Y-%m-%d %H:%M} UTC; get a new one")
        if now < first:
            raise TlsError(
                f"the TLS certificate {self._path} is not valid before {first:%Y-%m-%d %H:%M} UTC; is the clock right?"
            )

    def _check_access(self) -> None:
        """Said once, not whenever it is read anew."""
        if self._key.stat().st_mode & stat.S_IROTH and self._key not in _WARNED:
            _WARNED.add(self._key)
            log.warning(
                "the TLS key %s can be read by every user of this machine; write: chmod o= %s",
                self._key,
                self._key,
                extra={"event": "tls-key-readable"},
            )

    def _no_password(self) -> str:
        raise TlsError(
            f"the TLS key {self._key} is encrypted, and a service cannot ask for its password; write it without: "
            f"openssl pkey -in {self._key} -out NEW"
        )

    def _why(self, error: ssl.SSLError) -> str:
        if error.reason == "KEY_VALUES_MISMATCH":
            return f"the TLS key {self._key} is not the key of the certificate {self._path}"
        return f"the TLS key {self._key} is not a private key in PEM form, or not one that TLS can use"


def _read(path: Path, what: str) -> bytes:
    try:
        # A pipe would keep everybody waiting until somebody writes into it.
        if path.exists() and not path.is_file():
            raise TlsError(f"cannot read the TLS {what} {path}: it is not a regular file")
        return path.read_bytes()
    except FileNotFoundError:
        raise TlsError(f"the TLS {what} {path} does not exist") from None
    except OSError as error:
        raise TlsError(f"cannot read the TLS {what} {path}: {error.strerror}") from None
