"""The colours and lines of all pictures: a page, or a picture of its own, has it once."""

from importlib.resources import files


def style() -> str:
    """CSS."""
    return files("rockdove.picture").joinpath("style.css").read_text()
