"""Sealed secrets open under their key and for their owner only."""

import os

import pytest

from rockdove.core.cipher import KEY_BYTES, Cipher, Unsealable

SECRET = "wJalrXUtnFEMI/grüße"


@pytest.fixture
def cipher() -> Cipher:
    return Cipher(os.urandom(KEY_BYTES))


def test_what_is_sealed_opens(cipher: Cipher) -> None:
    sealed = cipher.seal(SECRET, "ann")
    assert SECRET not in sealed
    assert cipher.open(sealed, "ann") == SECRET


def test_the_same_secret_looks_different_each_time(cipher: Cipher) -> None:
    assert cipher.seal(SECRET, "ann") != cipher.seal(SECRET, "ann")


def test_another_key_does_not_open_it(cipher: Cipher) -> None:
    with pytest.raises(Unsealable):
        Cipher(os.urandom(KEY_BYTES)).open(cipher.seal(SECRET, "ann"), "ann")


def test_it_does_not_open_as_another_owners(cipher: Cipher) -> None:
    with pytest.raises(Unsealable):
        cipher.open(cipher.seal(SECRET, "ann"), "bob")


@pytest.mark.parametrize("damage", ["", "AAAA", "no base64!", "cut", "flipped"])
def test_damage_is_noticed(cipher: Cipher, damage: str) -> None:
    sealed = cipher.seal(SECRET, "ann")
    flipped = sealed[:20] + ("A" if sealed[20] != "A" else "B") + sealed[21:]
    text = {"cut": sealed[:-4], "flipped": flipped}.get(damage, damage)
    with pytest.raises(Unsealable):
        cipher.open(text, "ann")
