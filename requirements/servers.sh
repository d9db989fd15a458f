#!/usr/bin/env bash
# PostgreSQL and an S3 server, for `make stores`: Debian's packages, and versitygw built by Go into .jars/servers.
set -euo pipefail
cd "$(dirname "$0")/.."
gateway=github.com/versity/versitygw/cmd/versitygw@v1.8.0
folder=${FENCEPOST_JARS:-$PWD/.jars}/servers

if [ -z "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ]; then
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "PostgreSQL's server is missing. Install it with your system's packages (Debian: apt-get install postgresql) and run this again." >&2
    exit 1
  fi
  log=$(mktemp)
  echo "Installing PostgreSQL from the system's packages ..."
  if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    exit 1
  fi
fi

if [ ! -x "$folder/versitygw" ]; then
  if ! command -v go >/dev/null; then
    echo "Go is missing, which builds the S3 server of these tests. Install it (Debian: apt-get install golang) and run this again." >&2
    exit 1
  fi
  echo "Building an S3 server (versitygw; once, some two minutes) ..."
  mkdir -p "$folder"
  GOBIN=$folder go install "$gateway"
fi
