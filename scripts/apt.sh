# Installs Debian packages when root on a Debian or Ubuntu machine, else names the command and stops. Sourced by the other scripts.

say() { printf 'rockdove: %s\n' "$*" >&2; }

can_apt() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

# apt_install WHY PACKAGE...
apt_install() {
  local why=$1
  shift
  if ! can_apt; then
    say "$why. On Debian or Ubuntu: sudo apt-get install $*"
    say "then run the same command again."
    exit 1
  fi
  say "$why: installing $* with apt"
  apt_refresh
  # A package brought in for a test or a benchmark must not start a service of its own on this machine.
  local policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
  fi
  if ! DEBIAN_FRONTEND=noninteractive apt-get install -qq --yes --no-install-recommends "$@" </dev/null >.setup/apt.log 2>&1; then
    tail -n 20 .setup/apt.log >&2
    say "apt-get could not install $*"
    exit 1
  fi
}

apt_refresh() {
  mkdir -p .setup
  apt-get update -qq </dev/null >.setup/apt.log 2>&1 || { tail -n 5 .setup/apt.log >&2; say "apt-get update failed; going on with the old lists"; }
}
