#!/usr/bin/env bash
# Runs make targets one after another, times each, and stops at the first that fails: `stages.sh MAKE TARGET...`
set -euo pipefail

make=$1
shift
report=()
for target in "$@"; do
  printf '\n=== %s\n' "$target"
  began=$SECONDS
  if ! "$make" --no-print-directory "$target"; then
    printf '\n=== %s FAILED after %d s\n' "$target" $((SECONDS - began)) >&2
    exit 1
  fi
  report+=("$(printf '%-14s %4d s' "$target" $((SECONDS - began)))")
  printf '=== %s ok, %d s\n' "$target" $((SECONDS - began))
done

printf '\nAll stages ok:\n'
printf '  %s\n' "${report[@]}"
printf '  %-14s %4d s\n' total "$SECONDS"
