#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# deb.sh [-o DIR] [-i] [-s SUITE]: builds the Debian packages from a copy of
# what git tracks, and looks at what is in them.
#
#   -o DIR	leave the packages there
#   -i		install them in a fresh Debian system in a folder, from which
#		the module is built by DKMS, and another one for it, and a
#		program against libwort (root; downloads some 300 MB).  A
#		virtual machine with that kernel loads both modules
#   -s SUITE	with -i: which release (this machine's); trixie-backports is
#		trixie with the kernel of its backports

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

# package, and what must be in it
contents()
{
	cat <<-'END'
	wort-dkms	/usr/src/wort-[0-9.]*/dkms.conf
	wort-dkms	/usr/src/wort-[0-9.]*/kmod/engine/wort.c
	wort-dkms	/usr/src/wort-[0-9.]*/uapi/linux/wort_format.h
	wort-dkms	/usr/share/doc/wort-dkms/examples/README
	wort-dkms	/usr/share/doc/wort-dkms/examples/dirindex.c
	wort-tools	/usr/bin/wort
	wort-tools	/usr/lib/udev/rules.d/60-wort.rules
	wort-tools	/usr/lib/systemd/system/wort-attach@.service
	wort-tools	/usr/lib/systemd/system/wort.target
	wort-tools	/usr/share/bash-completion/completions/wort
	wort-tools	/usr/share/man/man1/wort.1.gz
	wort-tools	/usr/share/man/man4/wort.4.gz
	wort-tools	/usr/share/man/man5/wort-format.5.gz
	libwort0	/usr/lib/[^/]*/libwort.so.[0-9]
	libwort0	/usr/lib/[^/]*/libwort.so.[0-9]*.[0-9]*
	libwort-dev	/usr/lib/[^/]*/libwort.so
	libwort-dev	/usr/lib/[^/]*/pkgconfig/libwort.pc
	libwort-dev	/usr/include/wort.h
	libwort-dev	/usr/include/linux/wort.h
	libwort-dev	/usr/share/man/man3/libwort.3.gz
	python3-wort	/usr/lib/python3/dist-packages/wort/__init__.py
	python3-wort	/usr/lib/python3/dist-packages/wort/_wort.*.so
	python3-wort	/usr/lib/python3/dist-packages/wort/py.typed
	wort-doc	/usr/share/doc/wort-doc/html/index.html
	wort-doc	/usr/share/doc/wort-doc/examples/libwort.c
	END
}

build_packages()
{
	mkdir "$work/wort"
	git ls-files -z | xargs -0 cp --parents -t "$work/wort"
	(cd "$work/wort" && DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:+$DEB_BUILD_OPTIONS }noautodbgsym" \
		dpkg-buildpackage -us -uc -b) >"$work/log" 2>&1 ||
		{ tail -n 60 "$work/log"; die "dpkg-buildpackage failed"; }
}

check_contents()
{
	local package pattern deb files

	while read -r package pattern; do
		deb=$(echo "$work/${package}"_*.deb)
		[ -f "$deb" ] || die "there is no package $package"
		files=$(dpkg-deb -c "$deb" | awk '{ print $6 }' | sed 's/^\.//')
		grep -xq "$pattern" <<<"$files" || die "$package lacks $pattern"
	done < <(contents)
	say "$(contents | wc -l) files are where they belong"
}

check_lintian()
{
	lintian --fail-on error,warning "$work"/*.changes ||
		die "lintian found something"
}

# A program of the documentation, built as its first lines say.
# shellcheck disable=SC2016 # expanded there
try_inside()
{
	cat <<-'END'
	set -e
	dkms status | grep -q '^wort/.*installed'
	modinfo -F vermagic $(find /lib/modules/ -name "wort.ko*") >/tmp/module
	sed "s/^/module: for /" /tmp/module | grep .
	cp -R /usr/share/doc/wort-dkms/examples /tmp/sample
	make -C /tmp/sample KVER=$(basename /lib/modules/*)
	modinfo -F depends /tmp/sample/dirindex.ko | grep -x wort
	mkdir /modules
	cp $(find /lib/modules/ -name "wort.ko*") /tmp/sample/dirindex.ko /modules
	[ ! -e /modules/wort.ko.xz ] || xz -d /modules/wort.ko.xz
	wort --version
	wort doctor /dev/null | grep -q '^PROBLEM  module'
	cc -o /tmp/example /usr/share/doc/wort-doc/examples/libwort.c \
		$(pkg-config --cflags --libs libwort)
	/tmp/example /dev/absent 2>&1 | grep -q 'pool: No such file'
	ldd /tmp/example | grep -q 'libwort.so.0 => /'
	python3 -c "import wort; wort.Pool(\"/dev/absent\")" 2>&1 |
		grep -q 'wort.Error: .*No such file'
	systemd-analyze verify --man=no /usr/lib/systemd/system/wort-attach@.service \
		/usr/lib/systemd/system/wort.target
	mkdir -p /etc/systemd/system/wort.target.wants
	ln -s /usr/lib/systemd/system/wort-attach@.service \
		/etc/systemd/system/wort.target.wants/wort-attach@a.service
	apt-get -y -q purge wort-tools wort-dkms python3-wort libwort0 \
		wort-doc
	[ -z "$(find /etc/systemd -name '*wort*')" ]
	[ -z "$(dkms status | grep wort)" ]
	END
}

install_packages()
{
	local packages=gcc,libc6-dev,pkg-config,systemd,udev,xz-utils
	local mirror=http://deb.debian.org/debian release=${suite%-backports} sources

	need mmdebstrap packaging
	sources=("deb $mirror $release main"
		"deb $mirror-security $release-security main")
	if [ "$suite" = "$release" ]; then
		packages+=,linux-headers-amd64
	else
		sources+=("deb $mirror $suite main")
		packages+=,linux-headers-amd64/$suite
	fi
	# shellcheck disable=SC2016 # $1 is the folder, for the hook
	mmdebstrap --variant=apt --include="$packages" \
		--customize-hook="mkdir \"\$1/debs\" && cp $work/*.deb \"\$1/debs\"" \
		--customize-hook='chroot "$1" sh -c "apt-get -y -q install /debs/*.deb"' \
		--customize-hook="chroot \"\$1\" sh -c '$(try_inside | sed "s/'/'\\\\''/g")'" \
		--customize-hook="cp -R \"\$1/modules\" $work" \
		"$release" /dev/null "${sources[@]}" \
		>"$work/log" 2>&1 || { tail -n 60 "$work/log"; die "not installed"; }
	grep '^module: ' "$work/log"
	say "installed, used and purged in a fresh system of $suite"
}

# The kernel for which the modules were built, if it is one of those for guests.
flavour_of()
{
	local flavour

	for flavour in $(selftests/scripts/kernel.sh flavours); do
		[[ $(selftests/scripts/kernel.sh image "$flavour") != *"$1" ]] || echo "$flavour"
	done
}

# The module from the package, and the one that was built from the examples.
load_modules()
{
	local version flavour

	version=$(modinfo -F vermagic "$work/modules/wort.ko" | cut -d ' ' -f 1)
	flavour=$(flavour_of "$version")
	[ -n "$flavour" ] || { say "built for $version, which no guest has: not loaded"; return; }
	make -s -C userlib O="$work/userlib" static
	cp "$work/userlib/wort-static" "$work/modules/wort"
	selftests/vm/run.sh -k "$flavour" -l libcrc32c -f "$work/modules:/modules" -c '
		set -e
		cd /modules
		insmod wort.ko
		./wort format /dev/pmem0 && ./wort attach /dev/pmem0
		insmod dirindex.ko
		echo create 1/name 12 644 0 >/dev/dirindex
		[ "$(./wort count 0 dirindex)" = 1 ]
		rmmod dirindex' >"$work/log" 2>&1 ||
		{ tail -n 60 "$work/log"; die "the modules do not load"; }
	say "both modules loaded and used on $version"
}

main()
{
	local out='' install='' suite opt

	suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
	while getopts o:is: opt; do
		case $opt in
		o) out=$(realpath -m "$OPTARG") ;;
		i) install=1 ;;
		s) suite=$OPTARG ;;
		*) die "usage: deb.sh [-o DIR] [-i] [-s SUITE]" ;;
		esac
	done
	need dpkg-buildpackage packaging
	need lintian packaging
	cd "$wort_top"
	git rev-parse --git-dir >/dev/null 2>&1 ||
		die "packages are made from a git clone"
	work=$(temp_dir deb)
	trap 'rm -rf "$work"' EXIT
	build_packages
	check_contents
	check_lintian
	[ -z "$install" ] || { install_packages; load_modules; }
	[ -z "$out" ] || { mkdir -p "$out" && cp "$work"/*.deb "$out"; }
	(cd "$work" && ls -sh ./*.deb)
}

main "$@"
