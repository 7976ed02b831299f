#!/usr/bin/env bash
# Renews constraints.txt: the newest versions of all that Rockdove, its extras and its build bring in, good for Python 3.11 and newer.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

new=$(mktemp)
trap 'rm -f "$new"' EXIT
echo "# The versions everything is tested with, for Python 3.11 and newer: pip install -c constraints.txt. Renewed by scripts/constraints.sh." >"$new"
# One version for all Pythons (fork-strategy), so that the markers can go: plain name==version lines suit every installer.
printf '%s\n' hatchling editables uv |
  .venv/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --all-extras \
    --no-annotate --no-header --no-emit-index-url pyproject.toml - |
  grep -v "== 'win32'" | sed 's/ *;.*//' | sort -u >>"$new"
cat "$new" >constraints.txt
