#!/usr/bin/env bash
# Creates the root file system of an image as one folder per layer, the lowest first:
#
#   rootfs.sh front|renderer FOLDER
#
#   FOLDER/1-debian   packages of Debian, and the user
#   FOLDER/2-node     /usr/local/bin/node
#   FOLDER/3-app      /opt/webcapture: the services of the image, their packages, filter lists
#
# The Dockerfile copies these folders, and archive.ts packs them without a container engine, so both images have the same content. Needs
# root, Node 24 or newer with npm, mmdebstrap, and the network.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
suite=${DEBIAN_SUITE:-trixie}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${DEBIAN_SECURITY_MIRROR:-http://deb.debian.org/debian-security}

# The user of all processes; the chart contains the same number.
uid=10001

say() { printf '%s %s\n' "$(date +%T)" "$*" >&2; }
die() { say "$*"; exit 1; }

packages_of() {
  case $1 in
    # usr-is-merged replaces usrmerge, which depends on all of Perl. Node needs libstdc++6; tini reaps processes and forwards signals as
    # process 1.
    front) echo usr-is-merged ca-certificates libstdc++6 tini ;;
    # The headless shell renders, the full browser is for antiBot; Noto covers Arabic, Indic and most other scripts.
    # libnss3-tools has certutil, by which the browsers trust the authorities of WEBCAPTURE_CA_BUNDLE.
    renderer)
      echo usr-is-merged ca-certificates libstdc++6 tini chromium chromium-headless-shell libnss3-tools \
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

# Only Debian's essential packages, and the dependencies of the listed packages: the image has no apt.
debian_layer() { # image, folder
  local options=()
  apt-config dump | grep -E '^Acquire::(http|https)' > "$2.apt" || true
  [ -s "$2.apt" ] && options+=(--aptopt="$2.apt")
  # Keeps licenses, and removes other documentation and translations.
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
  # No process changes its user.
  find "$2" -xdev -type f -perm /6000 -exec chmod a-s {} +
  # Nothing is mounted here at this point, and a container mounts its /dev.
  rm -rf --one-file-system "$2"/dev/*
  rm -rf "$2.apt" "$2"/var/cache/{apt,debconf} "$2"/var/lib/apt "$2"/var/log "$2"/etc/{apt,hostname,resolv.conf}
}

# The Node version that the project pins: the running one, or the npm package.
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

# The unchanged sources, because Node strips the types, and the packages in the lock file for these services.
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
    # Builds the page at /dashboard, which runs in browsers. Its sources and packages are not copied.
    (cd "$root" && node deploy/dashboard/cli.ts >&2)
    mkdir -p "$app/services/dashboard"
    cp -R "$root/services/dashboard/dist" "$app/services/dashboard/"
  fi
  # These files are a quarter of the image, and no program reads them at run time.
  find "$app/node_modules" -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' \) -delete
  # npm writes a record of the installation, which differs from run to run.
  rm -rf "$app/node_modules/.package-lock.json" "$app/node_modules/.cache"
  if [ "$1" = renderer ]; then
    (cd "$root" && node deploy/filters/cli.ts "$app/filters" >&2)
    # The services need only the compiled form, and the project does not redistribute the lists.
    rm -rf "$app/filters/lists"
  fi
  if [ "$1" = front ]; then
    (cd "$root" && node services/cli/build.ts "$app" >&2)
    mkdir -p "$2/usr/local/bin"
    ln -s ../../../opt/webcapture/webcapture.mjs "$2/usr/local/bin/webcapture"
  fi
  chmod -R u=rwX,go=rX "$2"
  if [ "$1" = front ]; then
    # Mount points of deploy/compose. Docker gives a new volume the mode of the folder, so the user of the container may write to it.
    (cd "$2" && install -d -m 1777 var/lib/webcapture/{data,nats,front,controller,renderer})
  fi
}

image=${1:-} out=${2:-}
[ -n "$(packages_of "$image")" ] && [ -n "$out" ] || die "usage: rootfs.sh front|renderer FOLDER"
[ "$(id -u)" = 0 ] || die "needs root, to make files that belong to root"
command -v mmdebstrap > /dev/null || die "needs mmdebstrap: apt-get install -y mmdebstrap"
[ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 24')" = true ] || die "needs Node 24 or newer in PATH"
mkdir -p "$out"
out=$(cd "$out" && pwd)

# Keeps a layer whose key has not changed. To get newer Debian packages, remove the folder.
layer() { # name, key, command...
  local name=$1 key=$2; shift 2
  [ "$(cat "$out/$name.key" 2> /dev/null)" != "$key" ] || return 0
  say "$image: $name"
  # An aborted run may have left mounts of this machine in the folder.
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
