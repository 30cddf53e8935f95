#!/usr/bin/env bash
# Lays out the root file system of an image, a folder for each layer, the lowest first:
#
#   rootfs.sh front|renderer FOLDER
#
#   FOLDER/1-debian   packages of Debian, and the user
#   FOLDER/2-node     /usr/local/bin/node
#   FOLDER/3-app      /opt/webcapture: the services of the image, their packages, filter lists
#
# The Dockerfile copies these folders, and archive.ts packs them where there is no container engine: both ship the same.
# Needs root, Node 24 or newer with npm, mmdebstrap, and the network.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
suite=${DEBIAN_SUITE:-bookworm}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security}

# The user that every process of ours runs as; the chart names the same number.
uid=10001

say() { printf '%s %s\n' "$(date +%T)" "$*" >&2; }
die() { say "$*"; exit 1; }

packages_of() {
  case $1 in
    # usr-is-merged stands in for usrmerge, which brings all of Perl. libstdc++6 is for Node itself; tini reaps and hands on signals as process 1.
    front) echo usr-is-merged ca-certificates libstdc++6 tini ;;
    # The headless shell renders, the full browser is for antiBot; Noto covers Arabic, Indic and most other scripts.
    renderer)
      echo usr-is-merged ca-certificates libstdc++6 tini chromium chromium-headless-shell \
        fontconfig fonts-liberation fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji
      ;;
  esac
}

services_of() {
  case $1 in
    front) echo shared front controller ;;
    renderer) echo shared renderer ;;
  esac
}

# Only what Debian calls essential, and what the packages need: no apt in the image.
debian_layer() { # image, folder
  local options=()
  apt-config dump | grep -E '^Acquire::(http|https)' > "$2.apt" || true
  [ -s "$2.apt" ] && options+=(--aptopt="$2.apt")
  # Licences stay; the rest of the documentation, and translations of programs that nobody reads, do not.
  mmdebstrap --quiet --mode=root --variant=essential --components=main "${options[@]}" \
    --aptopt='APT::Install-Recommends "false"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/lintian/*' \
    --include="$(packages_of "$1" | tr ' ' ',')" \
    --customize-hook="echo 'webcapture:x:$uid:$uid:webcapture:/tmp:/usr/sbin/nologin' >> \"\$1/etc/passwd\"" \
    --customize-hook="echo 'webcapture:x:$uid:' >> \"\$1/etc/group\"" \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --skip=output/dev \
    "$suite" "$2" \
    "deb $mirror $suite main" "deb $mirror $suite-updates main" "deb $security $suite-security main"
  # No process of ours becomes another user.
  find "$2" -xdev -type f -perm /6000 -exec chmod a-s {} +
  # Nothing is mounted in it any more; a container has a /dev of its own.
  rm -rf --one-file-system "$2"/dev/*
  rm -rf "$2.apt" "$2"/var/cache/{apt,debconf} "$2"/var/lib/apt "$2"/var/log "$2"/etc/{apt,hostname,resolv.conf}
}

# The version that the project is pinned to: the one that runs this, or else npm's package of it.
node_layer() { # folder
  local version path work
  version=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).devDependencies.node' "$root/package.json")
  path=$(node -p process.execPath)
  if [ "$("$path" --version)" != "v$version" ]; then
    work=$(mktemp -d)
    (cd "$work" && npm init -y > /dev/null && npm install --no-audit --no-fund --loglevel=error "node@$version" >&2)
    path=$work/node_modules/node/bin/node
  fi
  mkdir -p "$1/usr/local/bin"
  install -m 755 "$(readlink -f "$path")" "$1/usr/local/bin/node"
  [ -z "${work:-}" ] || rm -rf "$work"
}

# The sources as they are (Node strips the types), and the packages that the lock file names for these services.
app_layer() { # image, folder
  local app=$2/opt/webcapture service workspaces=()
  mkdir -p "$app/services"
  cp "$root/package.json" "$root/package-lock.json" "$root/LICENSE" "$app/"
  for service in "$root"/services/*/; do
    service=$(basename "$service")
    mkdir -p "$app/services/$service"
    cp "$root/services/$service/package.json" "$app/services/$service/"
  done
  for service in $(services_of "$1"); do workspaces+=(--workspace "services/$service"); done
  (cd "$app" && npm ci --prefer-offline --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error "${workspaces[@]}" >&2)
  for service in "$app"/services/*/; do
    [[ " $(services_of "$1") " == *" $(basename "$service") "* ]] || rm -rf "$service" "$app/node_modules/@webcapture/$(basename "$service")"
  done
  for service in $(services_of "$1"); do cp -R "$root/services/$service" "$app/services/"; done
  if [ "$1" = front ]; then
    # The page at /dashboard, which browsers run: its sources and packages stay behind.
    (cd "$root" && node deploy/dashboard/cli.ts >&2)
    mkdir -p "$app/services/dashboard"
    cp -R "$root/services/dashboard/dist" "$app/services/dashboard/"
  fi
  # A quarter of the image otherwise, and nothing that runs reads them.
  find "$app/node_modules" -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete
  # npm notes what it has done; what it notes differs from run to run.
  rm -rf "$app/node_modules/.package-lock.json" "$app/node_modules/.cache"
  if [ "$1" = renderer ]; then
    (cd "$root" && node deploy/filters/cli.ts "$app/filters" >&2)
    # The lists were compiled; they are not ours to hand on.
    rm -rf "$app/filters/lists"
  fi
  chmod -R u=rwX,go=rX "$2"
}

image=${1:-} out=${2:-}
[ -n "$(packages_of "$image")" ] && [ -n "$out" ] || die "usage: rootfs.sh front|renderer FOLDER"
[ "$(id -u)" = 0 ] || die "needs root, to make files that belong to root"
command -v mmdebstrap > /dev/null || die "needs mmdebstrap: apt-get install -y mmdebstrap"
[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 24')" = true ] || die "needs Node 24 or newer in PATH"
mkdir -p "$out"
out=$(cd "$out" && pwd)

# A layer whose key is the same as last time is kept: remove the folder for newer packages of Debian.
layer() { # name, key, command...
  local name=$1 key=$2; shift 2
  [ "$(cat "$out/$name.key" 2> /dev/null)" != "$key" ] || return 0
  say "$image: $name"
  # A run that broke off may have left mounts of this machine in it.
  rm -rf --one-file-system "$out/.$name" "${out:?}/$name" "$out/$name.tar" "$out/$name.key"
  "$@" "$out/.$name"
  mv "$out/.$name" "$out/$name"
  echo "$key" > "$out/$name.key"
}
script=$(sha256sum < "$here/rootfs.sh" | cut -c1-16)
layer 1-debian "$script $suite $(packages_of "$image")" debian_layer "$image"
layer 2-node "$script $(sha256sum < "$root/package-lock.json" | cut -c1-16)" node_layer
layer 3-app "$(date +%s%N)" app_layer "$image"
say "$image: $(cd "$out" && du -sm -- */ | awk '{printf "%s%s %s MiB", sep, $2, $1; sep=", "}')"
