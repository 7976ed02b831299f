"""``python -m rockdove`` is ``rockdove``."""

from rockdove.cli.main import main

main()
