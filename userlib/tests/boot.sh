#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# boot.sh: what "make install" installs for systemd is what systemd takes, for
# each way to name a pool; where systemd cannot be asked nothing is looked at.

set -euo pipefail

here=$(realpath "$(dirname "$0")")
command -v systemd-analyze >/dev/null || { echo "no systemd-analyze"; exit; }
# It makes this folder where there is none, for which an ordinary user has no right.
[ -d /run/systemd ] || [ -w /run ] || { echo "no /run/systemd"; exit; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The command that the unit names has to be there.
mkdir "$work/units"
install -D /bin/true "$work/bin/wort"
cp "$here/../boot/wort.target" "$work/units"
for instance in /dev/pmem0 /dev/disk/by-wort-label/data \
	/dev/disk/by-wort-uuid/11111111-2222-4333-8444-555555555555; do
	sed "s|@BINDIR@|$work/bin|" "$here/../boot/wort-attach@.service.in" \
		>"$work/units/wort-attach@$(systemd-escape -p "$instance").service"
done
systemd-analyze verify --man=no "$work"/units/* >"$work/said" 2>&1 ||
	{ cat "$work/said"; exit 1; }
[ ! -s "$work/said" ] || { cat "$work/said"; exit 1; }
echo "$(find "$work/units" -type f | wc -l) units"
