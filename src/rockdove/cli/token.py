"""The token that lets others read the metrics, from a file: a word on the command line could be read by everybody."""

from pathlib import Path

from rockdove.cli.failure import Code, Failure

# Shorter ones could be guessed.
MIN_LENGTH = 16


def read(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Failure(f"cannot read the metrics token from {path}: {reason}", Code.USAGE) from None
    if len(token) < MIN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
        raise Failure(
            f"{path} must hold one word of at least {MIN_LENGTH} ASCII characters; make one with: openssl rand -hex 32",
            Code.USAGE,
        )
    return token
