"""Sealing of secrets that must be read again, such as those that signatures are checked with: AES-GCM."""

import binascii
import os
from base64 import b64decode, b64encode

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rockdove.core.errors import RockdoveError

KEY_BYTES = 32
# What GCM is made for. A random one for each seal is safe for 2^32 seals under one key.
_NONCE_BYTES = 12


class Unsealable(RockdoveError):
    """Sealed under another key, for another owner, or damaged."""


class Cipher:
    """Seals and opens under one key. The owner is sealed in: what belongs to one does not open as another's."""

    def __init__(self, key: bytes) -> None:
        self._aead = AESGCM(key)

    def seal(self, secret: str, owner: str) -> str:
        nonce = os.urandom(_NONCE_BYTES)
        return b64encode(nonce + self._aead.encrypt(nonce, secret.encode(), owner.encode())).decode()

    def open(self, sealed: str, owner: str) -> str:
        """Raises `Unsealable`."""
        try:
            data = b64decode(sealed, validate=True)
            return self._aead.decrypt(data[:_NONCE_BYTES], data[_NONCE_BYTES:], owner.encode()).decode()
        except (InvalidTag, binascii.Error, ValueError):
            raise Unsealable(f"the secret of {owner} does not open under this key") from None
