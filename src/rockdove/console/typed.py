"""What people type into inputs, as numbers."""

from rockdove.console.wrong import Wrong


def whole(text: str, field: str, low: int, high: int) -> int | None:
    """None if nothing is typed. Raises `Wrong`, about the input of that name."""
    text = text.strip().replace(",", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18 and low <= int(text) <= high):
        raise Wrong(f"Must be a whole number from {low:,} to {high:,}.", field)
    return int(text)


def number(text: str, field: str, low: float, high: float) -> float | None:
    """None if nothing is typed. Raises `Wrong`, about the input of that name."""
    text = text.strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = low - 1
    if not low <= value <= high:
        raise Wrong(f"Must be a number from {_words(low)} to {_words(high)}.", field)
    return value


def _words(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,}"
