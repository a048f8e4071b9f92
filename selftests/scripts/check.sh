#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh RUNG...: runs rungs of the tests, each as a list of steps with a log
# of its own under build/log, and says at the end how long each step took and
# how many passed.  Rungs: static, unit, explore, mutants, vm, debug;
# debug_if_built, which is debug, or nothing if its kernels are not there; and,
# longer than all of these, powercuts, kills, removal.  FLAVOUR in the environment
# names one kernel to test instead of all, ROUNDS how long the long ones are,
# KEYS how many keys are loaded while memory goes.
#
# Steps that use one processor run beside each other, so the table is in the
# order in which steps ended, and their times add up to more than the total;
# beside each time is that of processors, which is the same beside other work.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

build=$wort_top/build
log=$build/log
cd "$wort_top"
mkdir -p "$log"

# Two would write to the same folders.  Steps do not inherit the lock.
exec 8>"$build/check.lock"
flock -n 8 || die "another check runs in this folder: wait for it, or take another copy"

# A line for each step that has ended: status, name, seconds, those of processors.
# Steps beside each other run in shells of their own, so each adds its line to a file.
processors=$(nproc)
work=$(mktemp -d)
results=$work/results
touch "$results"
trap 'rm -rf "$work"' EXIT

# end_below PID: the processes that it has begun, and theirs.  Each stands still first, so that it
# begins no other.
end_below()
{
	local pid

	for pid in $(pgrep -P "$1"); do
		kill -STOP "$pid" 2>/dev/null || continue
		end_below "$pid"
		kill -TERM "$pid" && kill -CONT "$pid"
	done
}

# A signal to the check ends its steps, too.  They run in the background, where they ignore an
# interrupt from the keyboard, and a guest would go on for up to twenty minutes.
trap 'trap - TERM INT HUP; end_below $$; exit 143' TERM INT HUP

# timed NAME COMMAND...: its output and its times go to files of this name; $status says how it
# ended.  It runs in a shell of its own that ends at the first command that fails, which a
# function does not do where its status is asked for.
timed()
{
	local name=$1
	local TIMEFORMAT='%1U + %1S'
	shift

	set +e
	{ time { (set -e; "$@") >"$log/$name" 2>&1 8>&-; }; } 2>"$log/$name.time" &
	# The shell handles a signal during this wait; in the foreground, when the step has ended.
	wait $!
	status=$?
	set -e
}

# Did the machine under a guest fail?  Then its step says nothing about what ran there.
emulator_failed()
{
	grep -q '^run.sh: the emulator ran' "$log/$1"
}

# step NAME COMMAND...: one line for a step that passes, its log for one that
# fails.  Commands whose last line says something are quoted with it.
step()
{
	local name=$1 begin status took of_processors word=ok last

	begin=$(now_ms)
	timed "$@"
	if [ "$status" -ne 0 ] && emulator_failed "$name"; then
		echo "$name: the emulator failed: once more"
		timed "$@"
	fi
	took=$(seconds_since "$begin")
	of_processors=$(tail -n 1 "$log/$name.time")
	rm "$log/$name.time"
	last=$(tail -n 1 "$log/$name")
	if [ "$status" -ne 0 ]; then
		word="FAILED ($status)"
		tail -n 60 "$log/$name"
	fi
	printf '%-28s %7s s  %s%s\n' "$name" "$took" "$word" \
		"${last:+  $last}"
	printf '%s\t%s\t%s\t%s\n' "$status" "$name" "$took" "$of_processors" >>"$results"
}

# What failed may stand far from the end of a log: other tests go on beside it.
failures()
{
	grep -E -B 3 -e '  FAILED$' -e '^(# )*not ok ' -e '^(FAIL|ERROR): ' -e ' error: ' "$log/$1" |
		tail -n 40 || true
}

# The steps in the order in which they ended, then how those that failed did.
report()
{
	local status name took of_processors bad='' nr=0 nr_bad=0 tenths=0

	while IFS=$'\t' read -r status name took of_processors; do
		nr=$((nr + 1)) tenths=$((tenths + 10#${took/./}))
		[ "$status" -eq 0 ] || bad+=" $name" nr_bad=$((nr_bad + 1))
		printf '%-28s %7s s %16s  %s\n' "$name" "$took" "$of_processors" \
			"$([ "$status" -eq 0 ] && echo ok || echo "FAILED ($status)")"
	done <"$results"
	printf '%-28s %7s s\n' "sum of the steps" \
		"$((tenths / 10)).$((tenths % 10))" total "$1"
	while IFS=$'\t' read -r status name took of_processors; do
		[ "$status" -ne 0 ] || continue
		printf '\n%s, what failed:\n' "build/log/$name"
		failures "$name"
		printf '\n%s ends:\n' "build/log/$name"
		tail -n 50 "$log/$name"
	done <"$results"
	printf '%d passed, %d failed%s\n' "$((nr - nr_bad))" "$nr_bad" "${bad:+:$bad}"
	[ "$nr_bad" -eq 0 ]
}

# A function of which any command fails is a step that fails.  This runs in the shell of a step, so
# that the table of all steps stays as it is.
steps_self_test()
{
	fails()
	{
		false
		true
	}

	results=$work/self-test
	step self-test-fails fails
	step self-test-passes true
	passed self-test-passes
	if passed self-test-fails; then
		return 1
	fi
}

# passed NAME: has this step run, and was it good?
passed()
{
	grep -q "^0"$'\t'"$1"$'\t' "$results"
}

# side_by_side NUMBER CALL...: so many at a time, in this order.  Each writes that it
# came to its end: the shell forgets how a call ended once its process id is used again.
side_by_side()
{
	local max=$1 call ended
	shift

	ended=$(mktemp)
	for call; do
		while [ "$(jobs -rp | wc -l)" -ge "$max" ]; do
			sleep 0.2
		done
		# shellcheck disable=SC2086 # a function and its arguments
		{ $call; echo "$call" >>"$ended"; } &
	done
	wait
	# Steps that a shell did not come to are in no table.
	[ "$(wc -l <"$ended")" -eq $# ] || step steps-incomplete false
	rm "$ended"
}

# make_in FOLDER ARGUMENT...: what targets print does not mix, and warnings are errors.
make_in()
{
	make -s -j "$processors" -O CC='cc -Werror' -C "$@"
}

flavours()
{
	if [ -n "${FLAVOUR:-}" ]; then
		echo "$FLAVOUR"
	else
		selftests/scripts/kernel.sh flavours
	fi
}

# The number of the day: what takes long is done in turns.
today()
{
	echo $(($(date +%s) / 86400))
}

# part_of_today NUMBER: of what takes longest, one of so many parts, another one each day.
part_of_today()
{
	echo "$(($(today) % $1 + 1))/$1"
}

# one_of_today WORD...: another one each day.
one_of_today()
{
	shift $(($(today) % $#))
	echo "$1"
}

# One of the kernels.
flavour_of_today()
{
	# shellcheck disable=SC2046 # one word per kernel
	one_of_today $(flavours)
}

rung_static()
{
	local flavour calls=()

	step packages-static selftests/scripts/deps.sh build static
	step steps-self-test steps_self_test
	step layers selftests/lint/layers.sh
	step layers-self-test selftests/lint/layers.sh --self-test
	step engines selftests/lint/engines.sh
	step engines-self-test selftests/lint/engines.sh --self-test
	step width selftests/lint/width.sh
	step width-self-test selftests/lint/width.sh --self-test
	step version selftests/lint/version.sh
	step kernels selftests/lint/kernels.sh
	step newer-kernel selftests/scripts/kernel.sh newer
	step builds selftests/lint/builds.sh
	step tree selftests/lint/tree.sh
	step kernel-tools selftests/scripts/kernel.sh tools
	step monitoring selftests/lint/monitoring.sh
	step errno-table selftests/lint/errno-table.py --self-test
	step mutant-matrix selftests/lint/mutant-matrix.py
	for flavour in $(flavours); do
		step "kernel-$flavour" \
			selftests/scripts/kernel.sh headers "$flavour"
		calls+=("static_build $flavour gcc")
	done
	calls+=("static_build $(flavour_of_today) clang")
	side_by_side "$processors" "step checkpatch selftests/lint/checkpatch.sh" \
		"step kernel-doc selftests/lint/kernel-doc.sh" \
		"${calls[@]}" static_userlib "step docs make -s docs"
	step reference selftests/lint/reference.sh
	step uninstall selftests/packaging/uninstall.sh
	for flavour in $(flavours); do
		step "hot-code-$flavour" selftests/lint/hot-code.sh \
			"$build/static-$flavour-gcc/wort.ko"
	done
}

static_build()
{
	step "build-$1-$2" selftests/lint/kbuild.sh \
		-o "$build/static-$1-$2" "$1" "$2"
}

static_userlib()
{
	step userlib make_in userlib O="$build/userlib" CFLAGS='-O2 -Wall -Wextra'
}

build_model()
{
	mkdir -p "$build"
	cc -std=gnu11 -O2 -Wall -Wextra -Werror -o "$build/alloc_model" \
		selftests/model/alloc_model.c
}

rung_unit()
{
	step packages-unit selftests/scripts/deps.sh build python bench plots boot
	side_by_side "$processors" "step model-build build_model" \
		"step unit-build make_in selftests/unit O=$build/unit" \
		"step fuzz-build make_in selftests/fuzz O=$build/fuzz" \
		"step stress-build make_in selftests/stress O=$build/stress" \
		"step bench-build make_in selftests/bench O=$build/bench all peers"
	step unit make_in selftests/unit O="$build/unit" run
	step fuzz "$build/fuzz/fuzz" -t 60 -j "$processors" -s "$(today)"
	side_by_side "$processors" \
		"step stress make -s -C selftests/stress O=$build/stress run" \
		"step wort-offline make -s -C userlib O=$build/userlib check" \
		"step allocator-model $build/alloc_model --self-test" \
		"step plots selftests/bench/plots_test.py" \
		"step figures selftests/figures/figures_test.py" \
		"step bench bench_answers"
}

# All peers have to give the same answers; how fast is not judged.
bench_answers()
{
	local peer plugins=() engine engines

	engines=$("$build/bench/bench" --list | sed -n 's/^  \(.*\)-mandatory .*/\1/p')
	for engine in $engines; do
		"$build/bench/attach" -e "$engine" -n 2000
		"$build/bench/threads" -e "$engine" -n 2000 -r 1
	done
	engines=$(sed 's/.*/&,&-mandatory/' <<<"$engines" | paste -s -d ,)
	"$build/bench/bench" -r 1 -n 20000 -P "$engines,wort-mapped,wort-mcsafe,wort-eadr,wort-request,wort-gated,wort-rested" \
		-w dense,sparse,clustered,sequential,random,paths -o all -b 1000
	for peer in "$build"/bench/*.so; do
		plugins+=(-p "$peer")
	done
	"$build/bench/bench" -r 1 -n 500 -w clustered,random -P floor,wort \
		"${plugins[@]}" -o all -t
}

# rung_explore [OPTION...]
rung_explore()
{
	step packages-explore selftests/scripts/deps.sh build
	step explore-build make_in selftests/crash O="$build/crash"
	side_by_side 2 "step explore $build/crash/explore --preemptions 1 $*" \
		"step explore-mandatory $build/crash/explore --mandatory --len 1 --preemptions 1 --part $(part_of_today 120)" \
		"step explore-pairs selftests/crash/pairs.sh $build/crash/explore" \
		"step explore-random $build/crash/explore --random 40000 --number $(today)00000"
	grep -A3 'sequences,' "$log/explore" || true
}

# All sequences of two steps, and a part of the longer ones.
rung_explore_part()
{
	rung_explore --part "$(part_of_today 40)"
}

rung_mutants()
{
	step packages-mutants selftests/scripts/deps.sh build static
	side_by_side 2 "step mutants selftests/crash/mutants.py --build $build/mutants" \
		"step stress-mutants selftests/stress/mutants.py --build $build/stress-mutants"
}

# Programs are the same for all kernels: built once.
build_programs()
{
	local dir=$build/guest

	[ ! -e "$work/programs-built" ] || return 0
	rm -rf "$dir"
	mkdir -p "$dir"
	make_in selftests/kselftest OUTPUT="$dir"
	[ -x "$dir/abi32" ]
	make_in selftests/crash O="$build/crash"
	"$build/crash/explore" --write-starts "$dir/starts"
	make_in selftests/load OUTPUT="$dir"
	make_in selftests/stress O="$dir" "$dir/stress-module"
	cp selftests/kselftest/run_{all,debug}.sh "$dir"
	make_in userlib O="$build/userlib" static tests
	cp "$build/userlib/wort-static" "$build/userlib/tests/libwort" \
		"$build/userlib/tests/fio-store" \
		"$build"/userlib/tests/example-* \
		userlib/tests/{command,examples}.sh "$dir"
	touch "$work/programs-built"
}

# The module and its tests, as the guest gets them.  What the static rung has just
# built is the same module.
build_guest()
{
	local flavour=$1 dir=$build/guest-$1

	build_programs
	rm -rf "$dir"
	cp -R "$build/guest" "$dir"
	if passed "build-$flavour-gcc"; then
		cp -t "$dir" "$build/static-$flavour-gcc"/*.ko
	else
		selftests/lint/kbuild.sh -n -t -o "$dir" "$flavour" gcc
	fi
}

# powercuts FLAVOUR [OPTION...].  Grace periods are most of the time.
powercuts()
{
	local flavour=$1
	shift

	selftests/vm/run.sh -k "$flavour" -t "$((1200 + 120 * ${SEEDS:-0}))" \
		-a rcupdate.rcu_expedited=1 -l libcrc32c \
		-f "$build/guest-$flavour:/wort-tests" \
		-c "cd /wort-tests && insmod ./wort.ko && ./powercut -n ${SEEDS:-2} $*"
}

# From all pools, or with an option a part of them: what the layers do.
powercuts_all()
{
	step "powercuts-$1" powercuts "$@"
	grep '^# [0-9]* power cuts' "$log/powercuts-$1" || true
}

# Every kind of step, beside the walk, too: what a kernel flushes and fences.
powercuts_few()
{
	step "powercuts-$1" powercuts "$1" \
		"-s 'no pool' -s empty -s 'not walked' -s 'before the catalogue grows'" \
		"-s 'atomic batches'"
	grep '^# [0-9]* power cuts' "$log/powercuts-$1" || true
}

# Why a test may be skipped: everywhere; on our kernels, which have little but what finds bugs; in a
# guest with one device.  Any other reason means that something is missing which should be there.
skips='of all engines, once|of the default engine|no WORT_LOSSY_DEVICE'
skips_own='no filesystem with DAX|there are no memory cgroups'
skips_alone='no other block device|no WORT_ASYNC_DEVICE|no device-mapper'

# skips_of FLAVOUR [REASONS]: the variable for run_all.sh that allows these reasons.  A custom
# kernel may lack anything, so there it is not set.
skips_of()
{
	case $1 in
	custom) ;;
	debug | kcsan) echo "WORT_SKIPS='$skips|$skips_own${2:+|$2}'" ;;
	*) echo "WORT_SKIPS='$skips${2:+|$2}'" ;;
	esac
}

# kselftests FLAVOUR SCRIPT [PROGRAM...]: with a second device whose flushes
# are asynchronous, to be refused.
kselftests()
{
	local flavour=$1 image status=0
	shift

	image=$(mktemp)
	truncate -s 128M "$image"
	selftests/vm/run.sh -k "$flavour" -t 1200 -a kasan_multi_shot \
		-l libcrc32c -l ext4 -l brd -l dm-mod -l virtio_pci -l virtio_pmem \
		-q "-object memory-backend-file,id=vp,share=on,mem-path=$image,size=128M -device virtio-pmem-pci,memdev=vp" \
		-f "$build/guest-$flavour:/wort-tests" \
		-c "mkdir -p /dev/mapper
		    WORT_ASYNC_DEVICE=/dev/pmem1 $(skips_of "$flavour") sh /wort-tests/$*" ||
		status=$?
	rm -f "$image"
	return "$status"
}

# fuzz FLAVOUR CALLS: every ioctl with arguments that are wrong in any field.
fuzz()
{
	selftests/vm/run.sh -k "$1" -t 1200 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c "export WORT_SKIPS=none
		    WORT_FUZZ_CALLS=$2 sh /wort-tests/run_all.sh fuzz &&
		    WORT_FUZZ_CALLS=$(($2 / 5)) sh /wort-tests/run_all.sh fuzz32"
}

# The memory behind the second range drops what is stored.
lossy_memory()
{
	selftests/vm/run.sh -k "$1" -t 200 -l libcrc32c \
		-M '256M!1G,256M!16G' -f "$build/guest-$1:/wort-tests" \
		-c "WORT_LOSSY_DEVICE=/dev/pmem1 WORT_SKIPS='$skips_alone' \
			sh /wort-tests/run_all.sh control"
}

# shellcheck disable=SC2016 # expanded in the guest
wort_command()
{
	selftests/vm/run.sh -k "$1" -t 300 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c 'cd /wort-tests && insmod wort.ko &&
		    sh command.sh $PWD/wort-static /dev/pmem0 &&
		    sh examples.sh $PWD /dev/pmem0'
}

# stress FLAVOUR MS: threads on one index, so long in each of two rounds, with more
# processors than the machine may have.
stress()
{
	selftests/vm/run.sh -k "$1" -n 4 -t 600 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c "cd /wort-tests && insmod wort.ko &&
		    ./stress-module -t $2 -r 2 -s 1 &&
		    ./stress-module -k 48 -t $2 -r 2 -s 2 &&
		    rmmod wort && sh run_debug.sh -l"
}

# A small pool is full sooner.
poison()
{
	selftests/vm/run.sh -k "$1" -t 900 -m 128 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c 'cd /wort-tests && insmod wort.ko && ./poison'
}

# With the functions that an engine must have, and no others.
mandatory()
{
	selftests/vm/run.sh -k "$1" -t 1200 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c "WORT_PARAMETERS=mandatory=1 \
			$(skips_of "$1" "$skips_own|$skips_alone|engines do without") \
			sh /wort-tests/run_all.sh"
}

# guests_newest FLAVOUR [MS]: what a kernel may change.
guests_newest()
{
	step "kselftest-$1" kselftests "$1" run_all.sh
	grep '^# all:' "$log/kselftest-$1" || true
	step "stress-$1" stress "$1" "${2:-1500}"
}

hibernate_of_today()
{
	local flavour

	flavour=$(flavour_of_today)
	step "hibernate-$flavour" selftests/load/hibernate.sh -k "$flavour"
}

# guests_old FLAVOUR [MS [CALLS]]: what it should not change.
guests_old()
{
	guests_newest "$1" "${2:-}"
	step "fuzz-$1" fuzz "$1" "${3:-20000}"
	step "lossy-memory-$1" lossy_memory "$1"
	step "wort-command-$1" wort_command "$1"
	step "poison-$1" poison "$1"
	step "removal-$1" selftests/load/removal.sh -k "$1"
	step "kills-$1" selftests/load/kills.py -k "$1"
}

# Transfers by one put after the other: what a kill leaves of them is found.
finds_transfers_by_puts()
{
	local status=0

	selftests/load/kills.py -k "$1" -m singly -r 2 || status=$?
	[ "$status" -eq 1 ] &&
		grep -q '^# wrong: the accounts of group' "$log/kills-singly-$1"
}

# What no kernel changes, for a long time.
guests_full()
{
	step "kills-atomic-$1" selftests/load/kills.py -k "$1" -m atomic -r 2
	step "kills-singly-$1" finds_transfers_by_puts "$1"
	guests_old "$1" 3000 100000
}

# The kernel on which everything is tested: 6.12, or the only one.
full_flavour()
{
	local flavour

	for flavour in $(flavours); do
		[ "$flavour" != 6.12 ] || break
	done
	echo "$flavour"
}

# Long steps of the same kernel that run beside those.
guests_beside()
{
	step "vm-runner-$1" selftests/vm/test-runner.sh "$1"
	step "mandatory-$1" mandatory "$1"
}

# A guest takes less than half a processor.  The longest come first: those that are left at the
# end have one to themselves.
rung_vm()
{
	local flavour full calls=() others=()

	step packages-vm selftests/scripts/deps.sh build static vm
	# shellcheck disable=SC2046 # one word per kernel
	set -- $(flavours)
	full=$(full_flavour)
	calls=("guests_full $full" "powercuts_all $full -p $(part_of_today 2)")
	for flavour in $(flavours); do
		step "vm-kernel-$flavour" \
			selftests/scripts/kernel.sh image "$flavour"
		step "vm-build-$flavour" build_guest "$flavour"
		[ "$flavour" != "$full" ] || continue
		case $flavour in
		6.1) calls+=("guests_old $flavour") ;;
		*)   calls+=("guests_newest $flavour") ;;
		esac
		others+=("$flavour")
	done
	calls+=("guests_beside $full")
	[ ${#others[@]} -eq 0 ] || calls+=("powercuts_few $(one_of_today "${others[@]}")")
	side_by_side $((processors * 5 / 2)) "${calls[@]}" hibernate_of_today \
		"step tutorial selftests/vm/tutorial.py -k $1"
}

rung_powercuts()
{
	local flavour

	step packages-vm selftests/scripts/deps.sh build vm
	for flavour in $(flavours); do
		step "vm-build-$flavour" build_guest "$flavour"
		powercuts_all "$flavour"
	done
}

# On a kernel that says what Debian's keep to themselves.
debug_guests()
{
	step "detectors-$1" selftests/vm/test-detectors.sh "$1"
	step "kselftest-$1" kselftests "$1" run_debug.sh
	grep '^# all:' "$log/kselftest-$1" || true
}

fail_nth()
{
	step fail-nth kselftests debug run_debug.sh failnth
	grep '^# all:' "$log/fail-nth" || true
}

# What takes as long as the first two steps on the kernel with KASAN.
debug_guests_beside()
{
	fail_nth
	debug_guests kcsan
	step stress-kcsan stress kcsan 5000
	step stress-debug stress debug 5000
}

# The two kernels are built if absent.
rung_debug()
{
	local kernel

	step packages-debug selftests/scripts/deps.sh build static vm
	for kernel in debug kcsan; do
		step "vm-kernel-$kernel" \
			selftests/scripts/kernel.sh image "$kernel"
		step "vm-build-$kernel" build_guest "$kernel"
	done
	side_by_side 2 "debug_guests debug" debug_guests_beside
}

# Nobody waits ten minutes for two kernels without having asked for them.
rung_debug_if_built()
{
	if selftests/scripts/kernel.sh cached debug &&
		selftests/scripts/kernel.sh cached kcsan; then
		rung_debug
		return
	fi
	say "no debug kernels in the cache: that rung is left out;" \
		"\"make check-debug\" builds them once, in ten minutes or more"
}

# for_each_guest NAME COMMAND...: a long step on each kernel.
for_each_guest()
{
	local name=$1 flavour
	shift

	step "packages-$name" selftests/scripts/deps.sh build static vm
	for flavour in $(flavours); do
		step "$name-kernel-$flavour" \
			selftests/scripts/kernel.sh image "$flavour"
		step "$name-build-$flavour" build_guest "$flavour"
		step "$name-$flavour" "$@" -k "$flavour"
	done
}

rung_kills()
{
	for_each_guest kills selftests/load/kills.py -r "${ROUNDS:-200}"
}

rung_removal()
{
	for_each_guest removal selftests/load/removal.sh -r "${ROUNDS:-1000}" \
		-n "${KEYS:-4096}"
}

[ $# -gt 0 ] || die 'which rungs: static unit explore explore_part mutants vm powercuts debug kills removal?'
begin=$(now_ms)
for rung; do
	"rung_$rung"
done
echo
report "$(seconds_since "$begin")"
