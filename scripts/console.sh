#!/usr/bin/env bash
# Fetches what the console needs and is not in git: `console.sh`. Where npm is missing, apt brings it, if it may.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=.venv/bin/python
[ -x "$python" ] || python=python3
"$python" scripts/uplot.py --check && exit 0
scripts/need.sh npm=npm
exec "$python" scripts/uplot.py
