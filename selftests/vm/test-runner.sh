#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# test-runner.sh [FLAVOUR]: shows that run.sh is green when it should be and
# red when it must be: a runner that cannot fail would prove nothing.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"

flavour=${1:-6.1}
run=$wort_top/selftests/vm/run.sh
failed=0

# guest OPTION...: boots one; sets $status, leaves its console in $work/log.
guest()
{
	status=0
	"$run" -k "$flavour" "$@" >"$work/log" 2>&1 || status=$?
}

# expect TEXT COMMAND...: the command says whether the text is true.
expect()
{
	local text=$1
	shift

	if "$@"; then
		echo "ok - $text"
		return
	fi
	echo "not ok - $text"
	sed 's/^/# /' "$work/log"
	failed=1
}

status_is()
{
	[ "$status" -eq "$1" ]
}

log_has()
{
	grep -q "$1" "$work/log"
}

# wait_for_text FILE TEXT: for at most a minute.
wait_for_text()
{
	local tries=600

	until grep -q "$2" "$1" 2>/dev/null; do
		[ $((tries -= 1)) -gt 0 ] || return 1
		sleep 0.1
	done
}

# printf's output has what a terminal would change: it must arrive as it is.
test_green()
{
	# shellcheck disable=SC2016 # the guest expands it
	guest -A "$work/ack" -f "$0":/root/copy -c '
		test -b /dev/pmem0 && test -x /root/copy &&
		printf "a\r\nb\003\n" >$WORT_ACK'
	expect "a passing command is green" status_is 0
	printf 'a\r\nb\003\n' >"$work/expected"
	expect "acknowledgements arrive as they are" \
		cmp -s "$work/ack" "$work/expected"
}

test_status()
{
	guest -c 'exit 42'
	expect "a failing command's status is handed out" status_is 42
}

test_warning()
{
	guest -f "$work/wort_splat.ko" -c 'insmod wort_splat.ko'
	expect "a kernel warning is red" status_is 91
	expect "a kernel warning is shown" log_has 'WARNING: .*wort_splat'
}

test_panic()
{
	guest -f "$work/wort_splat.ko" -c 'insmod wort_splat.ko bug=panic'
	expect "a panic is red" status_is 91
}

# Which byte is in memory before the one where the trap is reported tells whose it is.
test_breakpoint()
{
	guest -f "$work/wort_splat.ko" -c 'insmod wort_splat.ko bug=breakpoint'
	expect "a breakpoint in memory is red" status_is 91
	guest -c '
		echo "<0>int3: 0000 [#1] PREEMPT SMP NOPTI" >/dev/kmsg
		echo "<0>Code: 48 66 <90> 48 8b 0f" >/dev/kmsg'
	expect "a breakpoint that is not in memory is the emulator's" status_is 89
}

test_no_boot()
{
	guest -a rdinit=/nowhere -c 'exit 0'
	expect "a kernel that does not come up is red" status_is 91
	expect "a kernel that does not come up is booted again" \
		log_has 'booting again'
}

# QEMU waits for somebody to start the processor.
test_hung_boot()
{
	WORT_VM_BOOT_LIMIT=2 guest -q -S -c 'exit 0'
	expect "a kernel that hangs as it comes up is red" status_is 92
	expect "a kernel that hangs as it comes up is booted again" \
		log_has 'booting again'
}

# QEMU stays when its guest has powered off.
test_hung_end()
{
	WORT_VM_END_LIMIT=1 guest -q -no-shutdown -c 'exit 42'
	expect "a command's status counts though its guest does not power off" \
		status_is 42
	expect "that a guest does not power off is said" \
		log_has 'does not power off'
}

test_silence()
{
	guest -c 'poweroff -f'
	expect "a guest that says nothing is red" status_is 90
}

test_hang()
{
	guest -t 8 -c 'echo asleep; sleep 1000'
	expect "a hang is red" status_is 92
}

# Mounting asks for one grace period after the other, each of which would be late.
test_pause()
{
	local runner

	# shellcheck disable=SC2016 # the guest expands it
	"$run" -k "$flavour" -p "$work/pid" -t 400 -c '
		uptime() { cut -d. -f1 /proc/uptime; }
		mkdir /m
		end=$(($(uptime) + 35))
		echo begin
		while [ "$(uptime)" -lt $end ]; do
			mount -t tmpfs m /m && umount /m || exit 1
		done' >"$work/log" 2>&1 &
	runner=$!
	expect "a guest begins before it stands still" \
		wait_for_text "$work/log" '^begin'
	kill -STOP "$(cat "$work/pid")" || failed=1
	sleep 30
	kill -CONT "$(cat "$work/pid")" || failed=1
	status=0
	wait "$runner" || status=$?
	expect "a guest that stood still for half a minute is green" status_is 0
}

# The guest is killed while it acknowledges as fast as it can.
kill_loaded_guest()
{
	local runner

	# shellcheck disable=SC2016 # the guest expands it
	"$run" -k "$flavour" -i "$work/image" -p "$work/pid" \
		-A "$work/acks" -c '
		dd if=/dev/urandom of=/root/data bs=64k count=64 2>/dev/null
		dd if=/root/data of=/dev/pmem0 bs=64k conv=fsync 2>/dev/null
		sha256sum </root/data >$WORT_ACK
		i=0
		while true; do echo $((i += 1)); done >$WORT_ACK' \
		>"$work/log" 2>&1 &
	runner=$!
	expect "acknowledgements arrive while the guest runs" \
		wait_for_text "$work/acks" '^2000$'
	kill -KILL "$(cat "$work/pid")"
	status=0
	wait "$runner" || status=$?
	expect "a killed QEMU is told apart" status_is 93
}

# Numbers without a gap; only the last line may be cut.
acks_are_gapless()
{
	sed -e 1d -e '$d' "$work/acks" | awk '$0 != NR { exit 1 }'
}

test_kill()
{
	kill_loaded_guest
	expect "no acknowledgement is missing" acks_are_gapless
	head -n 1 "$work/acks" >"$work/expected"
	# shellcheck disable=SC2016 # the guest expands it
	guest -i "$work/image" -A "$work/after" \
		-c 'head -c 4194304 /dev/pmem0 | sha256sum >$WORT_ACK'
	expect "a kept image is attached again" status_is 0
	expect "a kept image keeps its bytes" cmp -s "$work/after" "$work/expected"
}

main()
{
	local begin
	begin=$(now_ms)

	work=$(temp_dir test-runner)
	trap 'rm -rf "$work"' EXIT
	"$wort_top/selftests/lint/kbuild.sh" -n -d selftests/vm/splat \
		-o "$work" "$flavour" gcc
	test_green
	test_status
	test_warning
	test_panic
	test_breakpoint
	test_no_boot
	test_hung_boot
	test_hung_end
	test_silence
	test_hang
	test_pause
	test_kill
	echo "# $(seconds_since "$begin") s"
	return "$failed"
}

main
