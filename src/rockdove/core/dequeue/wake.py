"""The default policy: visit what is known not to be empty, hold what found nothing, be woken by the enqueue itself."""

from collections.abc import Iterator

from rockdove.core.dequeue.base import View


class Wake:
    """Never an empty answer while a visible message exists, and no visit that is certainly a miss."""

    holds = True

    def visits(self, view: View) -> Iterator[int]:
        for step in range(view.size):
            index = (view.turn + step) % view.size
            if view.may_have_visible(index):
                yield index
