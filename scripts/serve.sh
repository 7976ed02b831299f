#!/usr/bin/env bash
# Serves, and starts the console once the service listens: `serve.sh [WORDS FOR rockdove serve]`.
# CONSOLE has more words for the console, or "no". Whatever becomes of the console, the service goes on.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/apt.sh

run=.venv/bin/rockdove

# The console of the service at $1, until this is told to end.
console() {
  local url=$1 pid= words
  trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null; exit 0' TERM
  if ! scripts/environment.sh console || ! scripts/console.sh >&2; then
    say "the service goes on without the console; to try again: $run console --endpoint $url"
    say "(scripts/environment.sh console and scripts/console.sh install what it needs)"
    return
  fi
  read -ra words <<<"${CONSOLE:-}"
  "$run" console --endpoint "$url" --json "${words[@]}" \
    > >(sed -un 's/.*"ready":"\([^"]*\)".*/rockdove: the console is at \1/p' >&2) &
  pid=$!
  if ! wait "$pid"; then
    say "the service goes on without the console; to start it: $run console --endpoint $url --port N"
  fi
}

# What the service prints goes on to our output; it says when it is ready, and ends with the service.
follow() {
  local line pid=
  # Ctrl-C is for the service; the console ends after it.
  trap '' INT
  while IFS= read -r line; do
    printf '%s\n' "$line"
    case $line in
      'ready http'*) console "${line#ready }" & pid=$! ;;
      '{"ready":"http'*) console "$(sed 's/^{"ready":"\([^"]*\)".*/\1/' <<<"$line")" & pid=$! ;;
    esac
  done
  [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
}

[ "${CONSOLE:-}" != no ] || exec "$run" serve "$@"
exec "$run" serve "$@" > >(follow)
