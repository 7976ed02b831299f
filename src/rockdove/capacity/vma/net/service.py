"""How long a thread is busy with a message, as an inscription."""


def service(rate: str, scv: float) -> str:
    """Whole units of time, with mean one over the rate and that squared coefficient of variation."""
    if scv == 0:
        return f"round(1 / {rate})"
    if scv == 1:
        return f"round(exponential({rate}))"
    return f"round(gamma({1 / scv!r}, {scv!r} / {rate}))"
