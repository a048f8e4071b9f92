#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# First process of the guest that run.sh boots: makes /dev/pmem0 a DAX block
# device, runs /wort/command and says how it ended.  Written for busybox.
#
# /wort/vars sets what run.sh decided:
#   vm_modules	kernel modules of /wort/modules, in the order to load
#   vm_pmem	where /dev/pmem0 comes from: "nvdimm" or "memmap"
#   vm_ack	the device whose bytes the host keeps, or empty
#   vm_shell	set for an interactive shell
# shellcheck disable=SC2154

mount_all()
{
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t devtmpfs dev /dev
	mount -t debugfs debugfs /sys/kernel/debug
	mkdir -p /dev/shm /run
	mount -t tmpfs tmpfs /dev/shm
	ln -s /proc/self/fd /dev/fd
}

# What the kernel said since the command began helps when that failed.
# The host looks for both numbers; stty waits until what was written left.
finish()
{
	[ -z "$vm_ack" ] || stty raw -echo <"$vm_ack"
	# The kernel might write into the middle of these lines.
	dmesg -n 1
	[ "$1" -eq 0 ] || dmesg | sed '1,/guest: begin/d' | tail -n 20
	echo
	echo "WORT_VM_TAINTED=$(cat /proc/sys/kernel/tainted)"
	echo "WORT_VM_EXIT=$1"
	stty sane </dev/console
	poweroff -f
}

fail()
{
	echo "guest: $*"
	finish 125
}

wait_for()
{
	tries=300

	until [ -e "$1" ]; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

load_modules()
{
	for module in $vm_modules; do
		insmod "/wort/modules/$module" || fail "cannot load $module"
	done
}

is_fsdax()
{
	[ "$(cat /sys/block/pmem0/queue/dax)" = 1 ]
}

# The kernel finds a namespace of an earlier boot by this block on media.
has_info_block()
{
	dd if=/dev/pmem0 bs=4096 skip=1 count=1 2>/dev/null |
		grep -q NVDIMM_PFN_INFO
}

prepare_pmem()
{
	wait_for /dev/pmem0 || fail "there is no /dev/pmem0"
	is_fsdax && return
	[ "$vm_pmem" = nvdimm ] || fail "/dev/pmem0 has no DAX"
	has_info_block &&
		fail "the image has an fsdax namespace the kernel refuses"
	ndctl create-namespace -f -e namespace0.0 -m fsdax -M dev >/dev/null ||
		fail "ndctl made no namespace"
	wait_for /dev/pmem0 || fail "/dev/pmem0 did not come back"
	is_fsdax || fail "/dev/pmem0 has no DAX"
}

# What is written to the acknowledgement device must arrive as it is.
prepare_ack()
{
	[ -n "$vm_ack" ] || return
	stty raw -echo <"$vm_ack"
	export WORT_ACK="$vm_ack"
}

# The names of busybox' commands do not exist before this.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=linux
/bin/busybox mkdir -p /proc /sys /dev /tmp /root /sbin /usr/bin /usr/sbin
/bin/busybox --install -s /bin
mount_all
exec </dev/console >/dev/console 2>&1
echo "WORT_VM_INIT=1"
# shellcheck source=/dev/null
. /wort/vars
# Warnings reach the console from here on; the boot's own are no news.
dmesg -n 5
load_modules
prepare_pmem
prepare_ack
echo "<7>guest: begin" >/dev/kmsg
cd /root || fail "there is no /root"
if [ -n "$vm_shell" ]; then
	setsid cttyhack sh -l
	finish 0
fi
sh /wort/command </dev/null
finish $?
