#!/usr/bin/env bash
# Makes sure that programs exist: `need.sh COMMAND=PACKAGE...` installs the Debian packages of the missing ones.
# `need.sh --if-offered COMMAND=PACKAGE...` goes on without those that apt does not have.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/apt.sh

# Debian keeps servers such as nginx where only root's PATH looks.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

is_offered() {
  if can_apt; then apt_refresh; fi
  apt-cache show "$1" >/dev/null 2>&1
}

optional=
if [ "$1" = --if-offered ]; then
  optional=yes
  shift
fi
commands=()
packages=()
for pair in "$@"; do
  if command -v "${pair%%=*}" >/dev/null; then
    continue
  elif [ -n "$optional" ] && ! is_offered "${pair#*=}"; then
    say "apt has no ${pair#*=}: going on without it"
  else
    commands+=("${pair%%=*}")
    packages+=("${pair#*=}")
  fi
done
[ ${#commands[@]} = 0 ] || apt_install "missing ${commands[*]}" "${packages[@]}"
