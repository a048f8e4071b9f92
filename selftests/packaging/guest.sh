#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# guest.sh [-s SUITE] [FOLDER]: the way of a new user on Debian, from "wort
# doctor" to the removal of the packages.  A fresh system with the packages in
# FOLDER (build/deb, see deb.sh), in which DKMS has built the module, boots
# twice in a virtual machine.  As root; downloads some 400 MB.
#
#   -s SUITE	which release (trixie-backports: trixie with the kernel of its
#		backports)

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

# Behind the # of a command that doctor advises is a comment.
first_boot()
{
	cat <<-'END'
	modprobe wort
	mend=$(wort doctor /dev/pmem0 |
		sed -n 's/.*mend: \(ndctl create-namespace [^#]*\).*/\1/p')
	[ -n "$mend" ] && $mend
	wort doctor /dev/pmem0
	wort format -L data /dev/pmem0
	systemctl enable --now "$unit"
	find /usr/bin /usr/lib -type f -printf '%p\t%s\n' |
		LC_ALL=C sort >/root/files
	wort load -q -m data files /root/files
	wort dump data files | cmp - /root/files
	wort check data
	END
}

# Removal detaches what the unit attached; what a pool holds stays there.
second_boot()
{
	cat <<-'END'
	systemctl is-active "$unit"
	[ -c /dev/wort/by-label/data ]
	wort dump data files | cmp - /root/files
	apt-get -y -q remove wort-tools
	modprobe -r wort
	apt-get -y -q install /debs/wort-tools_*.deb
	modprobe wort
	wort attach LABEL=data
	wort dump data files | cmp - /root/files
	wort detach data
	apt-get -y -q purge wort-tools wort-dkms
	[ -z "$(find /etc/systemd /usr/src /lib/modules /var/lib/dkms \
		-name '*wort*')" ]
	END
}

# What systemd runs at the end of each boot, on the console.
guest_script()
{
	cat <<-END
	#!/bin/bash
	set -ex
	trap 'systemctl --no-block poweroff' EXIT
	unit=wort-attach@\$(systemd-escape -p /dev/disk/by-wort-label/data).service
	if [ ! -e /root/files ]; then
	$(first_boot)
	else
	$(second_boot)
	fi
	[ -z "\$(journalctl -b -p warning --no-pager |
		grep -i wort | grep -v taints)" ]
	echo "boot: done"
	END
}

guest_unit()
{
	cat <<-'END'
	[Unit]
	After=wort.target
	[Service]
	Type=oneshot
	ExecStart=/try
	StandardOutput=tty
	StandardError=tty
	TTYPath=/dev/ttyS0
	END
}

make_system()
{
	local mirror=http://deb.debian.org/debian release=${suite%-backports}
	local sources=("deb $mirror $release main")
	local packages=systemd-sysv,udev,dbus,kmod,dkms,ndctl

	[ "$suite" = "$release" ] || sources+=("deb $mirror $suite main")
	packages+=,linux-image-amd64/$suite,linux-headers-amd64/$suite
	guest_script >"$work/try"
	guest_unit >"$work/try.service"
	chmod 755 "$work/try"
	# shellcheck disable=SC2016 # $1 is the folder, for the hook
	mmdebstrap --variant=apt --include="$packages" \
		--customize-hook="mkdir \"\$1/debs\" && cp $folder/*.deb \"\$1/debs\"" \
		--customize-hook='chroot "$1" sh -c "apt-get -y -q install /debs/*.deb"' \
		--customize-hook="cp $work/try \"\$1\"" \
		--customize-hook="cp $work/try.service \"\$1/etc/systemd/system\"" \
		--customize-hook='cd "$1/etc/systemd/system" && mkdir -p multi-user.target.wants && ln -s ../try.service multi-user.target.wants' \
		"$release" "$work/root" "${sources[@]}" >"$work/log" 2>&1 ||
		{ tail -n 60 "$work/log"; die "no system of $suite"; }
	mke2fs -q -t ext4 -d "$work/root" "$work/disk" 6G
	truncate -s 256M "$work/pmem"
}

# boot_system WHICH: what the guest says is shown if it does not come to its end.
boot_system()
{
	timeout -k 5 1800 qemu-system-x86_64 -machine pc,nvdimm=on \
		-accel tcg,thread=multi -cpu max,la57=off -smp 2 \
		-m 2G,slots=2,maxmem=4G -nic none -nographic -no-reboot \
		-object "memory-backend-file,id=m,mem-path=$work/pmem,size=256M,share=on" \
		-device nvdimm,memdev=m \
		-drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" \
		-kernel "$work/root/vmlinuz" -initrd "$work/root/initrd.img" \
		-append "root=/dev/vda rw console=ttyS0 quiet systemd.getty_auto=no" \
		</dev/null >"$work/console" 2>&1 || say "QEMU ended with $?"
	grep -aq '^boot: done' "$work/console" ||
		{ tail -n 60 "$work/console"; die "the $1 boot went wrong"; }
	say "the $1 boot did what it was to do"
}

main()
{
	local suite=trixie-backports folder opt

	while getopts s: opt; do
		case $opt in
		s) suite=$OPTARG ;;
		*) die "usage: guest.sh [-s SUITE] [FOLDER]" ;;
		esac
	done
	shift $((OPTIND - 1))
	folder=$(realpath "${1:-$wort_top/build/deb}")
	[ -n "$(find "$folder" -name 'wort-tools_*.deb')" ] ||
		die "no packages in $folder: make deb builds them"
	need mmdebstrap packaging
	need qemu-system-x86_64 vm
	work=$(temp_dir guest)
	# mmdebstrap leaves this mounted in a folder that it was told to make.
	trap 'umount -q "$work/root/dev/pts" || true; rm -rf --one-file-system "$work"' EXIT
	make_system
	boot_system first
	boot_system second
}

main "$@"
