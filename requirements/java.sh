#!/usr/bin/env bash
# Java 17 to 21 must be there: Spark, Kafka and TLC run on it. Installs 17 from Debian's packages when it is missing.
set -euo pipefail

version() { "$1" -version 2>&1 | sed -nE '1,3s/.*version "([0-9]+).*/\1/p' | head -n 1; }
fits() { [ -n "$1" ] && [ "$1" -ge 17 ] && [ "$1" -lt 22 ]; }

if [ -n "${JAVA_HOME:-}" ] && ! fits "$(version "$JAVA_HOME/bin/java" || true)"; then
  echo "JAVA_HOME ($JAVA_HOME) has no Java 17 to 21, which Spark needs: unset it, or set it to one." >&2
  exit 1
fi
found=$(command -v java >/dev/null && version java || true)
if fits "$found"; then exit 0; fi

why="Spark needs Java 17 to 21; found: ${found:-none}."
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "$why Install a Java 17 runtime with your system's packages (Debian: apt-get install openjdk-17-jre-headless) and run this again." >&2
  exit 1
fi
echo "$why Installing openjdk-17-jre-headless from the system's packages ..."
log=$(mktemp)
if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openjdk-17-jre-headless; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  echo "Java 17 could not be installed (log above). Install openjdk-17-jre-headless by hand and run this again." >&2
  exit 1
fi
if [ "$(version java)" != 17 ]; then
  echo "Java 17 is installed but 'java' is still version $(version java): put it first on PATH (update-alternatives --config java)." >&2
  exit 1
fi
