"""How many messages of a window came out of order: the one figure that SQL cannot make."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from rockdove.spark.order import longest_of_blocks

PLACES: Final = "places"
OUT_OF_ORDER: Final = "out_of_order"


def out_of_order(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Replace the places in the order of sending, in the order of receiving, by how many are out of order.

    That is all but the longest increasing subsequence.
    """
    for batch in batches:
        lists = batch.column(PLACES)
        offsets = lists.offsets.to_numpy().astype(np.int64)
        values = lists.values.to_numpy()[offsets[0] : offsets[-1]].astype(np.int64)
        begins = offsets[:-1] - offsets[0]
        wrong = np.diff(offsets) - longest_of_blocks(values, begins)
        index = batch.schema.get_field_index(PLACES)
        names = [OUT_OF_ORDER if name == PLACES else name for name in batch.schema.names]
        columns = [pa.array(wrong) if place == index else column for place, column in enumerate(batch.columns)]
        yield pa.RecordBatch.from_arrays(columns, names)
