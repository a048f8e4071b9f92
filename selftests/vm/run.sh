#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Boots a kernel in QEMU with persistent memory at /dev/pmem0, runs a
# command there and ends with its exit status.  "run.sh -h" lists options.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"
# shellcheck source-path=SCRIPTDIR source=initramfs.sh
. "$(dirname "$0")/initramfs.sh"
# shellcheck source-path=SCRIPTDIR source=verdict.sh
. "$(dirname "$0")/verdict.sh"

usage()
{
	cat <<-'END'
	run.sh -c COMMAND | -s  [options]
	-k FLAVOUR	kernel: 6.1 (default), another of Debian's, debug, kcsan or
	                custom (see kernel.sh)
	-c COMMAND	shell commands that the guest runs
	-s		an interactive shell instead
	-f SRC[:DEST]	copy a file or folder to the guest (DEST: /root/NAME),
	                with the shared libraries it needs; repeatable
	-l MODULE	load one of the kernel's own modules; repeatable
	-m MIB		size of the persistent memory (256, multiples of 128)
	-i IMAGE	keep the persistent memory in this file, whose size stays
	-M MEMMAP	memory of the guest as persistent memory: 256M!1G
	-e		caches are persistent too (eADR)
	-g MIB		memory of the guest (2048)
	-n CPUS		processors of the guest (2)
	-a ARGS		more arguments for the kernel
	-q ARGS		more arguments for QEMU
	-t SECONDS	time limit (120)
	-o LOG		write the guest's console there, too
	-p PIDFILE	write QEMU's process id there
	-A FILE		what the guest writes to $WORT_ACK is appended there at
	                once: it stays when QEMU is killed
	The guest has busybox and ndctl: scripts for other shells need -f, too.
	WORT_VM_ACCEL=kvm in the environment asks for KVM instead of emulation,
	WORT_VM_ACCEL=icount for a clock that counts instructions, each 1 ns,
	with one processor; WORT_VM_BOOT_LIMIT=SECONDS for how long a kernel may
	take to come up (120), WORT_VM_END_LIMIT=SECONDS for how long to power
	off once its command has ended (60).
	Status: that of COMMAND, or 89: the emulator failed, 90: the guest ended
	without a word, 91: its kernel complained, 92: time limit, 93: QEMU was
	killed, 94: not started, 125: no persistent memory or no module in the guest.
	END
}

set_defaults()
{
	flavour=6.1 command='' shell='' files=() extra_modules=()
	pmem_mib='' image='' memmap='' persistence=mem-ctrl
	guest_mib=2048 cpus=2 kernel_args='' qemu_args=()
	limit=120 log=/dev/null pid_file='' ack=''
}

parse_options()
{
	local opt words

	set_defaults
	while getopts k:c:sf:l:m:i:M:eg:n:a:q:t:o:p:A:h opt; do
		case $opt in
		k) flavour=$OPTARG ;;
		c) command=$OPTARG ;;
		s) shell=1 ;;
		f) files+=("$OPTARG") ;;
		l) extra_modules+=("$OPTARG") ;;
		m) pmem_mib=$OPTARG ;;
		i) image=$OPTARG ;;
		M) memmap=$OPTARG ;;
		e) persistence=cpu ;;
		g) guest_mib=$OPTARG ;;
		n) cpus=$OPTARG ;;
		a) kernel_args=$OPTARG ;;
		q) read -ra words <<<"$OPTARG"; qemu_args+=("${words[@]}") ;;
		t) limit=$OPTARG ;;
		o) log=$OPTARG ;;
		p) pid_file=$OPTARG ;;
		A) ack=$OPTARG ;;
		h) usage; exit 0 ;;
		*) usage >&2; exit "$st_usage" ;;
		esac
	done
	shift $((OPTIND - 1))
	if [ $# -gt 0 ] || [ -z "$command$shell" ]; then
		usage >&2
		exit "$st_usage"
	fi
}

# The kernel stumbles over a namespace made for another size.
prepare_image()
{
	local have=''

	image=${image:-$work/pmem}
	[ ! -s "$image" ] || have=$(($(stat -L -c %s "$image") >> 20))
	pmem_mib=${pmem_mib:-${have:-256}}
	[ $((pmem_mib % 128)) -eq 0 ] ||
		stop "$st_usage" "$pmem_mib MiB is no multiple of 128"
	[ "${have:-$pmem_mib}" -eq "$pmem_mib" ] ||
		stop "$st_usage" "$image has $have MiB, not $pmem_mib"
	[ -n "$have" ] || truncate -s "${pmem_mib}M" "$image"
}

# /dev/kvm may exist and not work; a kernel that finds no root file system
# panics, which shows that one can boot.
kvm_works()
{
	local out

	out=$(timeout -k 1 20 qemu-system-x86_64 -accel kvm -m 256 \
		-display none -nic none -serial stdio -no-reboot \
		-kernel "$1" -append "console=ttyS0 panic=-1" \
		</dev/null 2>&1) || return
	grep -q 'Kernel panic' <<<"$out"
}

# A fifth level of page tables would only slow the emulation.
accelerator()
{
	if [ "${WORT_VM_ACCEL:-tcg}" = kvm ]; then
		if kvm_works "$1"; then
			qemu+=(-accel kvm -cpu host)
			return
		fi
		say "KVM does not work here: emulating"
	fi
	if [ "${WORT_VM_ACCEL:-tcg}" = icount ]; then
		qemu+=(-accel tcg,thread=single -icount shift=0,sleep=off)
	else
		qemu+=(-accel tcg,thread=multi)
	fi
	qemu+=(-cpu "max,la57=off")
}

persistent_memory()
{
	if [ -n "$memmap" ]; then
		append+=" memmap=$memmap"
		qemu+=(-machine pc -m "$guest_mib")
		return
	fi
	prepare_image
	# shellcheck disable=SC2054 # the commas are QEMU's
	qemu+=(-machine "pc,nvdimm=on,nvdimm-persistence=$persistence"
		-m "${guest_mib}M,slots=2,maxmem=$((guest_mib + pmem_mib + 1024))M"
		-object "memory-backend-file,id=pmem,share=on,mem-path=$image,size=${pmem_mib}M"
		-device nvdimm,id=nvdimm,memdev=pmem)
}

# Where much else goes on, a guest may stand still for half a minute.  Its kernel takes that
# for code that does not end.
patience="rcupdate.rcu_cpu_stall_timeout=100 watchdog_thresh=50"

build_qemu()
{
	local kernel=$1 append

	append="console=ttyS0 quiet printk.time=1 panic=-1 oops=panic"
	append+=" nokaslr no_timer_check $patience"
	rm -f "${pid_file:=$work/pid}"
	qemu=(qemu-system-x86_64 -display none -nic none -no-reboot
		-smp "$cpus" -pidfile "$pid_file")
	accelerator "$kernel"
	persistent_memory
	if [ -n "$shell" ]; then
		qemu+=(-serial mon:stdio)
	else
		qemu+=(-serial stdio)
	fi
	[ -z "$ack" ] ||
		qemu+=(-chardev "file,id=ack,append=on,path=$ack"
			-serial chardev:ack)
	qemu+=(-kernel "$kernel" -initrd "$work/initrd"
		-append "$append $kernel_args" "${qemu_args[@]}")
}

# The shell's own message about a killed child is no part of the console.
emulate()
{
	local status=0

	{
		timeout --foreground -k 5 "$limit" "${qemu[@]}" </dev/null 2>&1
	} 2>/dev/null || status=$?
	echo "$status" >"$work/status"
}

gone()
{
	[ ! -d "$work" ] || [ -e "$work/status" ]
}

# within SECONDS COMMAND...: did it come true before time and guest were over?
within()
{
	local left=$1
	shift

	until "$@"; do
		[ $((left -= 1)) -ge 0 ] && ! gone || return
		sleep 1
	done
}

has_said()
{
	[ -n "$(said "$1" 2>/dev/null)" ]
}

# A kernel comes up, and goes, in seconds, or in a minute where much else goes
# on.  Whether one that has told its command's status goes says nothing about that.
# Who has this guest ends it, too: its file may name another one later.
end_hung_guest()
{
	if within "${WORT_VM_BOOT_LIMIT:-120}" has_said INIT; then
		within "$limit" has_said EXIT || return 0
		! within "${WORT_VM_END_LIMIT:-60}" gone || return 0
		say "the guest does not power off: ending it"
	else
		! gone || return 0
		: >"$work/hung"
	fi
	kill "$(cat "$pid_file")" 2>/dev/null || true
}

# In the background: a trap does not wait for a command in the foreground.
run_guest()
{
	local guest watcher

	rm -f "$work/status" "$work/hung" "$work/console"
	emulate | sed -u 's/\r//g' | tee "$work/console" "$log" |
		sed -u '/^WORT_VM_/d' &
	guest=$!
	end_hung_guest &
	watcher=$!
	wait "$guest"
	kill "$watcher" 2>/dev/null || true
}

# Did the kernel give up, or hang, before its first process ran?
died_young()
{
	[ -e "$work/hung" ] || {
		[ "$(cat "$work/status")" -eq 0 ] && [ -z "$(said INIT)" ] &&
			kernel_complaints >/dev/null
	}
}

# An emulated processor now and then runs code that another is just patching, or
# loses a timer.  A kernel does most of that while it boots, before it has seen any
# of ours.
boot_and_run()
{
	local tries

	for tries in 2 1 0; do
		run_guest
		died_young && [ "$tries" -gt 0 ] || break
		say "the guest's kernel did not come up: booting again"
	done
}

# Whoever ends the runner must not leave its guest behind.
cleanup()
{
	local status=$? pid

	if [ ! -e "$work/status" ] && pid=$(cat "$pid_file" 2>/dev/null); then
		kill "$pid" 2>/dev/null || true
	fi
	rm -rf "$work"
	[ -n "$started" ] || exit "$st_usage"
	exit "$status"
}

main()
{
	local kernel modules

	parse_options "$@"
	need qemu-system-x86_64 vm
	started=''
	work=$(temp_dir vm)
	trap cleanup EXIT
	trap 'exit 143' TERM INT HUP
	kernel=$("$wort_top/selftests/scripts/kernel.sh" image "$flavour")
	modules=$("$wort_top/selftests/scripts/kernel.sh" modules "$flavour")
	build_initramfs "$modules"
	build_qemu "$kernel"
	started=1
	if [ -n "$shell" ]; then
		"${qemu[@]}"
	else
		boot_and_run
		verdict
	fi
}

main "$@"
