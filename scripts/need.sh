#!/usr/bin/env bash
# Makes sure that programs exist: `need.sh COMMAND=PACKAGE...` installs the Debian packages of the missing ones.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/apt.sh

# Debian keeps servers such as nginx where only root's PATH looks.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

commands=()
packages=()
for pair in "$@"; do
  if ! command -v "${pair%%=*}" >/dev/null; then
    commands+=("${pair%%=*}")
    packages+=("${pair#*=}")
  fi
done
[ ${#commands[@]} = 0 ] || apt_install "missing ${commands[*]}" "${packages[@]}"
