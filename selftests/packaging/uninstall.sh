#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# uninstall.sh: "make uninstall" takes away what "make install", install-dkms and
# install-docs have put into a folder, and nothing else.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dest=$work/dest

targets()
{
	make -s -C "$wort_top" DEPS=true DESTDIR="$dest" "$@" >/dev/null
}

files()
{
	(cd "$dest" && find . ! -type d | sort)
}

targets install install-dkms install-docs
nr=$(files | wc -l)
for file in usr/local/bin/wort usr/local/lib/libwort.so \
	usr/local/share/man/man1/wort.1 usr/src/wort-*/dkms.conf \
	usr/local/share/doc/wort/html/index.html; do
	compgen -G "$dest/$file" >/dev/null || die "not installed: $file"
done
starts=$(find "$dest" -path '*/multi-user.target.wants/wort.target')
[ -L "$starts" ] || die "nothing starts wort.target"
[ -e "$starts" ] || die "the link that starts wort.target leads nowhere"

# As "make modules_install" puts it, for older kernels and newer ones.
for folder in extra updates; do
	mkdir -p "$dest/lib/modules/1.0-$folder/$folder/kmod"
	touch "$dest/lib/modules/1.0-$folder/$folder/kmod/wort.ko.xz"
done

# Others have files there, too.
mine=$(find "$dest" -type d -printf '%P/mine\n' | grep -v 'usr/src/wort-\|doc/wort/' | sort)
while read -r file; do
	touch "$dest/$file"
done <<<"$mine"
targets uninstall
diff <(files) <(sed 's|^/*|./|' <<<"$mine" | sort) ||
	die "left, or taken from others: see above"
say "$nr files installed and taken away"
