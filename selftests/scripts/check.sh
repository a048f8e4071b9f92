#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh RUNG...: runs rungs of the tests, each as a list of steps with a log
# of its own under build/log, and says at the end how long each step took and
# how many passed.  Rungs: static, unit, explore, mutants, vm.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

build=$wort_top/build
log=$build/log
cd "$wort_top"
mkdir -p "$log"

table='' passed=0 failed=0 last=''

# step NAME COMMAND...: one line for a step that passes, its log for one that
# fails.  Commands whose last line says something are quoted with it.
step()
{
	local name=$1 begin status=0 took word=ok
	shift

	begin=$(now_ms)
	"$@" >"$log/$name" 2>&1 || status=$?
	took=$(seconds_since "$begin")
	last=$(tail -n 1 "$log/$name")
	if [ "$status" -eq 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		word="FAILED ($status)"
		tail -n 60 "$log/$name"
	fi
	printf '%-28s %7s s  %s%s\n' "$name" "$took" "$word" \
		"${last:+  $last}"
	table+=$(printf '%-28s %7s s  %s' "$name" "$took" "$word")$'\n'
}

flavours()
{
	selftests/scripts/kernel.sh flavours
}

rung_static()
{
	local flavour compiler

	step packages-static selftests/scripts/deps.sh build static
	step layers selftests/lint/layers.sh
	step layers-self-test selftests/lint/layers.sh --self-test
	step version selftests/lint/version.sh
	step kernel-tools selftests/scripts/kernel.sh tools
	step errno-table selftests/lint/errno-table.py --self-test
	step checkpatch selftests/lint/checkpatch.sh
	step kernel-doc selftests/lint/kernel-doc.sh
	for flavour in $(flavours); do
		step "kernel-$flavour" \
			selftests/scripts/kernel.sh headers "$flavour"
		for compiler in gcc clang; do
			step "build-$flavour-$compiler" \
				selftests/lint/kbuild.sh "$flavour" "$compiler"
		done
	done
	step userlib make -s -C userlib O="$build/userlib" \
		CFLAGS='-O2 -Wall -Wextra -Werror'
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
	step wort-offline make -s -C userlib O="$build/userlib" check
}

rung_explore()
{
	step packages-explore selftests/scripts/deps.sh build
	step explore-build make -s -C selftests/crash O="$build/crash"
	step explore "$build/crash/explore"
	grep -A3 'sequences,' "$log/explore" || true
}

rung_mutants()
{
	step packages-mutants selftests/scripts/deps.sh build static
	step mutants selftests/crash/mutants.py --build "$build/mutants"
}

# The module and its tests, as the guest gets them.
build_guest()
{
	local flavour=$1 dir=$build/guest-$1

	rm -rf "$dir"
	mkdir -p "$dir"
	selftests/lint/kbuild.sh -n -o "$dir" "$flavour" gcc
	make -s -C selftests/kselftest OUTPUT="$dir"
	[ -x "$dir/abi32" ]
	cp selftests/kselftest/run_all.sh "$dir"
	make -s -C userlib O="$build/userlib" static tests
	cp "$build/userlib/wort-static" "$build/userlib/tests/libwort" \
		userlib/tests/command.sh "$dir"
}

# A second device whose flushes are asynchronous, to be refused.
kselftests()
{
	local image status=0

	image=$(mktemp)
	truncate -s 128M "$image"
	selftests/vm/run.sh -k "$1" -t 600 -l libcrc32c -l brd -l dm-mod \
		-l virtio_pci -l virtio_pmem \
		-q "-object memory-backend-file,id=vp,share=on,mem-path=$image,size=128M -device virtio-pmem-pci,memdev=vp" \
		-f "$build/guest-$1:/wort-tests" \
		-c 'mkdir -p /dev/mapper
		    WORT_ASYNC_DEVICE=/dev/pmem1 sh /wort-tests/run_all.sh' ||
		status=$?
	rm -f "$image"
	return "$status"
}

# Every ioctl with arguments that are wrong in any field.
fuzz()
{
	selftests/vm/run.sh -k "$1" -t 1200 -l libcrc32c \
		-f "$build/guest-$1:/wort-tests" \
		-c 'sh /wort-tests/run_all.sh fuzz &&
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
		    sh command.sh $PWD/wort-static /dev/pmem0'
}

rung_vm()
{
	local flavour

	step packages-vm selftests/scripts/deps.sh build static vm
	for flavour in $(flavours); do
		step "vm-kernel-$flavour" \
			selftests/scripts/kernel.sh image "$flavour"
		step "vm-runner-$flavour" \
			selftests/vm/test-runner.sh "$flavour"
		step "vm-build-$flavour" build_guest "$flavour"
		step "kselftest-$flavour" kselftests "$flavour"
		grep '^# all:' "$log/kselftest-$flavour" || true
		step "fuzz-$flavour" fuzz "$flavour"
		step "lossy-memory-$flavour" lossy_memory "$flavour"
		step "wort-command-$flavour" wort_command "$flavour"
	done
}

[ $# -gt 0 ] || die 'which rungs: static unit explore mutants vm?'
begin=$(now_ms)
for rung; do
	"rung_$rung"
done
printf '\n%s%-28s %7s s\n' "$table" total "$(seconds_since "$begin")"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
