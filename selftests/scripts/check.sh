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

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

build=$wort_top/build
log=$build/log
cd "$wort_top"
mkdir -p "$log"

# A line for each step that has ended: status, name, seconds.  Some steps run
# beside each other, so it is a file.
programs_built=
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# step NAME COMMAND...: one line for a step that passes, its log for one that
# fails.  Commands whose last line says something are quoted with it.
step()
{
	local name=$1 begin status=0 took word=ok last
	shift

	begin=$(now_ms)
	"$@" >"$log/$name" 2>&1 || status=$?
	took=$(seconds_since "$begin")
	last=$(tail -n 1 "$log/$name")
	if [ "$status" -ne 0 ]; then
		word="FAILED ($status)"
		tail -n 60 "$log/$name"
	fi
	printf '%-28s %7s s  %s%s\n' "$name" "$took" "$word" \
		"${last:+  $last}"
	printf '%s\t%s\t%s\n' "$status" "$name" "$took" >>"$results"
}

# The steps in the order in which they ended, then how those that failed did.
report()
{
	local status name took bad='' nr=0 nr_bad=0

	while IFS=$'\t' read -r status name took; do
		nr=$((nr + 1))
		[ "$status" -eq 0 ] || bad+=" $name" nr_bad=$((nr_bad + 1))
		printf '%-28s %7s s  %s\n' "$name" "$took" \
			"$([ "$status" -eq 0 ] && echo ok || echo "FAILED ($status)")"
	done <"$results"
	printf '%-28s %7s s\n' total "$1"
	while IFS=$'\t' read -r status name took; do
		[ "$status" -ne 0 ] || continue
		printf '\n%s ends:\n' "build/log/$name"
		tail -n 50 "$log/$name"
	done <"$results"
	printf '%d passed, %d failed%s\n' "$((nr - nr_bad))" "$nr_bad" "${bad:+:$bad}"
	[ "$nr_bad" -eq 0 ]
}

flavours()
{
	if [ -n "${FLAVOUR:-}" ]; then
		echo "$FLAVOUR"
	else
		selftests/scripts/kernel.sh flavours
	fi
}

rung_static()
{
	local flavour compiler

	step packages-static selftests/scripts/deps.sh build static
	step layers selftests/lint/layers.sh
	step layers-self-test selftests/lint/layers.sh --self-test
	step engines selftests/lint/engines.sh
	step engines-self-test selftests/lint/engines.sh --self-test
	step version selftests/lint/version.sh
	step kernels selftests/lint/kernels.sh
	step newer-kernel selftests/scripts/kernel.sh newer
	step builds selftests/lint/builds.sh
	step kernel-tools selftests/scripts/kernel.sh tools
	step monitoring selftests/lint/monitoring.sh
	step errno-table selftests/lint/errno-table.py --self-test
	step mutant-matrix selftests/lint/mutant-matrix.py
	step checkpatch selftests/lint/checkpatch.sh
	step kernel-doc selftests/lint/kernel-doc.sh
	for flavour in $(flavours); do
		step "kernel-$flavour" \
			selftests/scripts/kernel.sh headers "$flavour"
		for compiler in gcc clang; do
			step "build-$flavour-$compiler" \
				selftests/lint/kbuild.sh \
				-o "$build/static-$flavour-$compiler" \
				"$flavour" "$compiler"
		done
		step "hot-code-$flavour" selftests/lint/hot-code.sh \
			"$build/static-$flavour-gcc/wort.ko"
	done
	step userlib make -s -C userlib O="$build/userlib" \
		CFLAGS='-O2 -Wall -Wextra -Werror'
	step docs make -s docs
}

build_model()
{
	mkdir -p "$build"
	gcc -std=gnu11 -O2 -Wall -Wextra -o "$build/alloc_model" \
		selftests/model/alloc_model.c
}

rung_unit()
{
	step packages-unit selftests/scripts/deps.sh build
	step model-build build_model
	step allocator-model "$build/alloc_model" --self-test
	step unit-build make -s -C selftests/unit O="$build/unit"
	step unit make -s -C selftests/unit O="$build/unit" run
	step fuzz-build make -s -C selftests/fuzz O="$build/fuzz"
	step fuzz "$build/fuzz/fuzz" -t 60 -j "$(nproc)"
	step stress-build make -s -C selftests/stress O="$build/stress"
	step stress make -s -C selftests/stress O="$build/stress" run
	step wort-offline make -s -C userlib O="$build/userlib" check
	step packages-bench selftests/scripts/deps.sh bench
	step bench-build make -s -C selftests/bench O="$build/bench" all peers
	step bench bench_answers
}

# All peers have to give the same answers; how fast is not judged.
bench_answers()
{
	local peer plugins=()

	"$build/bench/bench" -r 1 -n 20000 -P wort,wort-mapped,wort-mcsafe,wort-eadr,wort-request \
		-w dense,sparse,clustered,sequential,random,paths -o all -b 1000
	for peer in "$build"/bench/*.so; do
		plugins+=(-p "$peer")
	done
	"$build/bench/bench" -r 1 -n 500 -w clustered,random -P floor,wort \
		"${plugins[@]}" -o all -t
}

rung_explore()
{
	step packages-explore selftests/scripts/deps.sh build
	step explore-build make -s -C selftests/crash O="$build/crash"
	step explore "$build/crash/explore" --preemptions 1
	step explore-mandatory "$build/crash/explore" --mandatory --len 1
	grep -A3 'sequences,' "$log/explore" || true
}

rung_mutants()
{
	step packages-mutants selftests/scripts/deps.sh build static
	step mutants selftests/crash/mutants.py --build "$build/mutants"
	step stress-mutants selftests/stress/mutants.py \
		--build "$build/stress-mutants"
}

# Programs are the same for all kernels: built once.
build_programs()
{
	local dir=$build/guest

	[ -z "$programs_built" ] || return 0
	rm -rf "$dir"
	mkdir -p "$dir"
	make -s -C selftests/kselftest OUTPUT="$dir"
	[ -x "$dir/abi32" ]
	make -s -C selftests/crash O="$build/crash"
	"$build/crash/explore" --write-starts "$dir/starts"
	make -s -C selftests/load OUTPUT="$dir"
	make -s -C selftests/stress O="$dir" "$dir/stress-module"
	cp selftests/kselftest/run_{all,debug}.sh "$dir"
	make -s -C userlib O="$build/userlib" static tests
	cp "$build/userlib/wort-static" "$build/userlib/tests/libwort" \
		"$build/userlib/tests/fio-store" \
		"$build"/userlib/tests/example-* \
		userlib/tests/{command,examples}.sh "$dir"
	programs_built=1
}

# The module and its tests, as the guest gets them.
build_guest()
{
	local flavour=$1 dir=$build/guest-$1

	build_programs
	rm -rf "$dir"
	cp -R "$build/guest" "$dir"
	selftests/lint/kbuild.sh -n -t -o "$dir" "$flavour" gcc
}

# Grace periods are most of the time.
powercuts()
{
	selftests/vm/run.sh -k "$1" -t "$((1200 + 120 * ${SEEDS:-0}))" \
		-a rcupdate.rcu_expedited=1 -l libcrc32c -f "$build/guest-$1:/wort-tests" \
		-c "cd /wort-tests && insmod ./wort.ko && ./powercut -n ${SEEDS:-2}"
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
		-l libcrc32c -l brd -l dm-mod -l virtio_pci -l virtio_pmem \
		-q "-object memory-backend-file,id=vp,share=on,mem-path=$image,size=128M -device virtio-pmem-pci,memdev=vp" \
		-f "$build/guest-$flavour:/wort-tests" \
		-c "mkdir -p /dev/mapper
		    WORT_ASYNC_DEVICE=/dev/pmem1 sh /wort-tests/$*" ||
		status=$?
	rm -f "$image"
	return "$status"
}

# Every ioctl with arguments that are wrong in any field.
fuzz()
{
	selftests/vm/run.sh -k "$1" -t 1200 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c 'WORT_FUZZ_CALLS=100000 sh /wort-tests/run_all.sh fuzz &&
		    WORT_FUZZ_CALLS=20000 sh /wort-tests/run_all.sh fuzz32'
}

# The memory behind the second range drops what is stored.
lossy_memory()
{
	selftests/vm/run.sh -k "$1" -t 200 -l libcrc32c \
		-M '256M!1G,256M!16G' -f "$build/guest-$1:/wort-tests" \
		-c 'WORT_LOSSY_DEVICE=/dev/pmem1 sh /wort-tests/run_all.sh control'
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

# Threads on one index, with more processors than the machine may have.
# shellcheck disable=SC2016 # expanded in the guest
stress()
{
	selftests/vm/run.sh -k "$1" -n 4 -t 600 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c 'cd /wort-tests && insmod wort.ko &&
		    ./stress-module -t 5000 -r 2 -s 1 &&
		    ./stress-module -k 48 -t 5000 -r 2 -s 2 &&
		    rmmod wort && sh run_debug.sh -l'
}

# A small pool is full sooner.
poison()
{
	selftests/vm/run.sh -k "$1" -t 900 -m 128 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c 'cd /wort-tests && insmod wort.ko && ./poison'
}

# What the kernel may change.
main_guests()
{
	local flavour=$1

	step "kselftest-$flavour" kselftests "$flavour" run_all.sh
	grep '^# all:' "$log/kselftest-$flavour" || true
	step "stress-$flavour" stress "$flavour"
	step "hibernate-$flavour" selftests/load/hibernate.sh -k "$flavour"
	step "powercuts-$flavour" powercuts "$flavour"
	grep '^# [0-9]* power cuts' "$log/powercuts-$flavour" || true
}

# With the functions that an engine must have, and no others.
mandatory()
{
	selftests/vm/run.sh -k "$1" -t 1200 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c 'WORT_PARAMETERS=mandatory=1 sh /wort-tests/run_all.sh'
}

# The steps in guests of one kernel.
guests()
{
	local flavour=$1

	step "vm-runner-$flavour" selftests/vm/test-runner.sh "$flavour"
	main_guests "$flavour"
	[ "$flavour" = 6.1 ] ||
		step "mandatory-$flavour" mandatory "$flavour"
	step "fuzz-$flavour" fuzz "$flavour"
	step "lossy-memory-$flavour" lossy_memory "$flavour"
	step "wort-command-$flavour" wort_command "$flavour"
	step "poison-$flavour" poison "$flavour"
	step "removal-$flavour" selftests/load/removal.sh -k "$flavour"
	step "kills-$flavour" selftests/load/kills.py -k "$flavour"
}

# side_by_side CALL...: an emulated processor is mostly alone in its guest.
side_by_side()
{
	local call shell shells=()

	for call; do
		# shellcheck disable=SC2086 # a function and its arguments
		$call &
		shells+=($!)
	done
	# Steps that a shell did not come to are in no table.
	for shell in "${shells[@]}"; do
		wait "$shell" || step guests-incomplete false
	done
}

# Two kernels show what the module does; a third what it changes.
guests_call()
{
	case $1 in
	6.1 | 6.12 | "${FLAVOUR:-custom}") echo "guests $1" ;;
	*)				   echo "main_guests $1" ;;
	esac
}

rung_vm()
{
	local flavour calls=()

	step packages-vm selftests/scripts/deps.sh build static vm
	for flavour in $(flavours); do
		step "vm-kernel-$flavour" \
			selftests/scripts/kernel.sh image "$flavour"
		step "vm-build-$flavour" build_guest "$flavour"
		calls+=("$(guests_call "$flavour")")
	done
	side_by_side "${calls[@]}"
	step tutorial selftests/vm/tutorial.py
}

rung_powercuts()
{
	local flavour

	step packages-vm selftests/scripts/deps.sh build vm
	for flavour in $(flavours); do
		step "vm-build-$flavour" build_guest "$flavour"
		step "powercuts-$flavour" powercuts "$flavour"
		grep '^# [0-9]* power cuts' "$log/powercuts-$flavour" || true
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
	step stress-kcsan stress kcsan
	step stress-debug stress debug
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
	side_by_side "debug_guests debug" debug_guests_beside
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

[ $# -gt 0 ] || die 'which rungs: static unit explore mutants vm powercuts debug kills removal?'
begin=$(now_ms)
for rung; do
	"rung_$rung"
done
echo
report "$(seconds_since "$begin")"
