"""Analysis of traces on Spark. Needs ``rockdove[spark]``; importing this package alone needs nothing."""
