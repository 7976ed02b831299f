#!/usr/bin/env bash
# Builds the control plane for `make test-kube` into .setup/kube, once: a quarter of an hour, and 4 GB for Go's caches.
# `build.sh renew 1.36.3` writes go.mod and go.sum anew for that version of Kubernetes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. scripts/apt.sh

folder=$PWD/scripts/kubernetes
out=$PWD/.setup/kube/controlplane

if ! command -v go >/dev/null; then
  say "make test-kube builds Kubernetes, and that takes Go 1.21 or newer, which is not here. On Debian 13: sudo apt-get install golang-go"
  say "then run the same command again."
  exit 1
fi

cd "$folder"

# The release names folders of its own in place of its parts, which others cannot use: each is published, too, as v0.
renew() {
  local version=$1 mod
  mod=$(go mod download -json "k8s.io/kubernetes@v$version" | sed -n 's|.*"GoMod": "\(.*\)".*|\1|p')
  rm -f go.sum
  {
    printf 'module controlplane\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v%s\n\nreplace (\n' "$version"
    sed -n "s|^\t\(k8s.io/[a-z-]*\) => ./staging.*|\t\1 => \1 v0.${version#1.}|p" "$mod"
    printf ')\n'
  } >go.mod
  go mod tidy
}

if [ "${1:-}" = renew ]; then
  renew "$2"
  exit
fi

version=$(sed -n 's|^\tk8s.io/kubernetes v||p' go.mod)
minor=${version#1.}
stamp=$out.stamp
print="$(cat go.mod go.sum main.go | sha256sum)"
if [ -x "$out" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$print" ]; then
  exit
fi
say "building the control plane of Kubernetes $version, which takes a quarter of an hour the first time"
mkdir -p "${out%/*}"
named=k8s.io/component-base/version
CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -mod=readonly" nice go build -trimpath -o "$out" \
  -ldflags "-s -w -X $named.gitVersion=v$version -X $named.gitMajor=1 -X $named.gitMinor=${minor%%.*}" .
echo "$print" >"$stamp"
