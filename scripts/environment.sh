#!/usr/bin/env bash
# Makes, repairs or updates .venv: `environment.sh base` installs what serving needs, `environment.sh all` every extra.
# `environment.sh console` adds what the console needs to the first, beside a service that runs from there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/apt.sh

want=$1
venv=$(pwd -P)/.venv
stamp=$venv/.rockdove-installed
unfinished=$venv/.rockdove-unfinished
oldest="3.11"

is_new_enough() { "$1" -c "import sys; sys.exit(sys.version_info < (${oldest/./, }))" 2>/dev/null; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
    if command -v "$candidate" >/dev/null && is_new_enough "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

# The newest Python that apt offers and that is new enough, as a package name.
apt_python() {
  local version
  for version in 3.14 3.13 3.12 3.11; do
    if apt-cache show "python$version-venv" >/dev/null 2>&1; then
      echo "python$version"
      return
    fi
  done
  return 1
}

# A Python that can make an environment; apt brings what is missing.
require_python() {
  local package
  if ! python=$(find_python); then
    if [ -n "${PYTHON:-}" ]; then
      say "PYTHON=$PYTHON is not a Python of $oldest or newer"
      exit 1
    fi
    if can_apt; then apt_refresh; fi
    if ! package=$(apt_python); then
      say "Rockdove needs Python $oldest or newer, and apt offers none here."
      say "Install one, then run again with PYTHON=/path/to/python3"
      exit 1
    fi
    apt_install "Rockdove needs Python $oldest or newer" "$package" "$package-venv"
    python=$(find_python)
  fi
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    package=$("$python" -c 'import sys; print("python{}.{}-venv".format(*sys.version_info))')
    apt_install "$python cannot make environments" "$package"
  fi
}

# Why .venv cannot be used as it is; empty when it can.
fault_of_venv() {
  if [ ! -e "$venv" ]; then
    echo "none yet"
  elif [ -e "$unfinished" ]; then
    echo "the last installation was interrupted"
  elif ! is_new_enough "$venv/bin/python"; then
    echo "its Python is gone or older than $oldest"
  elif ! head -n 3 "$venv/bin/pip" 2>/dev/null | grep -qF "$venv/bin/"; then
    echo "it is half-made, or was moved here"
  fi
}

fingerprint() { { cat pyproject.toml constraints.txt; echo "$venv"; } | sha256sum | cut -d ' ' -f 1; }

is_installed() {
  local kind print
  [ -e "$stamp" ] || return 1
  read -r kind print <"$stamp"
  [ "$print" = "$(fingerprint)" ] && case $kind in
    all | "$want") true ;;
    console) [ "$want" = base ] ;;
    *) false ;;
  esac
}

make_venv() {
  require_python
  rm -rf "$venv"
  say "making .venv with $("$python" --version)"
  # Marked before pip arrives in it, so that an interruption at any later point is seen.
  mkdir -p "$venv"
  touch "$unfinished"
  "$python" -m venv "$venv"
}

with_pip() { "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --constraint constraints.txt "$@"; }

# uv does in seconds what takes pip a minute, but it does not read pip's own settings: then pip does the work.
with_uv() {
  with_pip uv &&
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --constraint constraints.txt \
      --build-constraint constraints.txt "$@"
}

all_extras() {
  "$venv/bin/python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"], sep=",")'
}

# Packages that an extra needs, with those of the extras that it names.
packages_of() {
  "$venv/bin/python" - "$1" <<'END'
import re, sys, tomllib
extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]
def packages(name):
    for need in extras[name]:
        other = re.fullmatch(r"rockdove\[(.+)\]", need)
        yield from packages(other[1]) if other else [need]
print(*packages(sys.argv[1]), sep="\n")
END
}

# Leaves what is there as it is: a service may be running from it, and this may be interrupted.
add_console() {
  local packages print
  print=$(fingerprint)
  mapfile -t packages < <(packages_of console)
  say "installing what the console needs into .venv"
  with_uv "${packages[@]}" || with_pip "${packages[@]}"
  echo "console $print" >"$stamp"
}

install() {
  local print target
  print=$(fingerprint)
  touch "$unfinished"
  rm -f "$stamp"
  if [ "$want" = all ]; then
    target=".[$(all_extras)]"
    say "installing Rockdove with every extra into .venv"
    with_uv --editable "$target" || with_pip --editable "$target"
  else
    say "installing what serving needs into .venv"
    with_pip --editable .
  fi
  echo "$want $print" >"$stamp"
  rm -f "$unfinished"
}

mkdir -p .setup
exec 9>.setup/lock
flock 9

fault=$(fault_of_venv)
if [ -z "$fault" ] && is_installed; then
  exit 0
fi
if [ -n "$fault" ]; then
  [ ! -e "$venv" ] || say ".venv cannot be used ($fault): making it anew"
  make_venv
fi
if [ "$want" = console ]; then add_console; else install; fi
