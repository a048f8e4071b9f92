#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# file.sh FOLDER [KILLS]: the library and the command, which the Makefile has built in
# FOLDER, on pools in plain files; then a load is killed so often (20 unless given).

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=expect.sh
. "$(dirname "$0")/expect.sh"

out=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
kills=${2:-20}
wort=$out/wort
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

is_open()
{
	grep -q "FLOCK.*:$(stat -c %i "$1") " /proc/locks
}

# wait_until COMMAND...: until it succeeds, a minute at most.
wait_until()
{
	local i

	for ((i = 0; i < 1200; i++)); do
		! "$@" || return 0
		sleep 0.05
	done
	echo "not within a minute: $*"
	return 1
}

is_closed()
{
	! is_open "$1"
}

check_first_record()
{
	"$wort" format --size 64M pool.img >/dev/null
	"$wort" create pool.img names
	expect 0 "^created  *20[2-9]" "$wort" stat pool.img names
	expect 0 "^counted  *20[2-9]" "$wort" stat pool.img names
	"$wort" put pool.img names hello world
	expect 0 '^world$' "$wort" get pool.img names hello
	expect 1 'no such key' "$wort" get pool.img names other
	expect 0 ' names$' "$wort" list pool.img
	expect 0 '^clean$' "$wort" check pool.img
	seq 1 1000 | sed 's/.*/&\t&/' | "$wort" load -q --sync process pool.img names >/dev/null
	expect 0 '^1001$' "$wort" count pool.img names
	"$wort" dump pool.img names >dump
	[ "$(wc -l <dump)" -eq 1001 ]
	"$wort" del pool.img names hello
	expect 0 '^1000$' "$wort" count pool.img names
	"$wort" destroy pool.img names
	"$out/tests/libwort" pool.img
	"$out/tests/libwort" -m pool.img
	"$out/tests/fio-store" pool.img
	expect 0 '^clean$' "$wort" check pool.img
	"$out/tests/file-threads" threads.img
	"$out/tests/file-threads" -m threads.img
}

check_format()
{
	expect 3 'a pool is on the device' "$wort" format pool.img
	"$wort" format -f pool.img >/dev/null
	expect 3 'smaller than a pool can be' "$wort" format --size 100k small.img
	[ ! -e small.img ]
	: >empty.img
	expect 3 'wort format --size' "$wort" format empty.img
	expect 2 'this names a pool' "$wort" format --size 1M wort7
	[ ! -e wort7 ]
	expect 3 'Not a directory' "$wort" format --size 1M pool.img/x
	head -c 1M /dev/urandom >noise.img
	expect 3 'there is something else in the file' "$wort" format noise.img
	seq 100 >small.txt
	expect 3 'there is something else in the file' "$wort" format --size 1M small.txt
	seq 100 | cmp - small.txt
	expect 1 'try: wort doctor noise.img' "$wort" put noise.img a b c
	expect 1 'no pool, but something else' "$wort" doctor noise.img
	expect 1 'leads nowhere' "$wort" format --size 1M no-folder/a.img
	expect 2 'this names a pool' "$wort" format --size 1M 77
	expect 3 'too small for a pool' "$wort" format -e 1M --size 2M extents.img
	[ ! -e extents.img ]
	"$wort" format -f noise.img >/dev/null
	expect 0 '^clean$' "$wort" check noise.img
	expect 3 'the file is larger' "$wort" format -f --size 512k noise.img
	truncate -s 8M sparse.img
	"$wort" format sparse.img >/dev/null
	[ $(($(stat -c '%b * %B' sparse.img))) -ge $((8 << 20)) ]
	expect 1 'wort format --size' "$wort" format missing.img
	expect 3 'is not attached' "$wort" attach pool.img
	expect 3 'is not attached' "$wort" detach pool.img
	expect 0 'written by msync' "$wort" stat pool.img
	expect 2 'neither media nor process' "$wort" put --sync never pool.img a b c
	expect 1 'there is no pool' "$wort" put --sync process small.txt a b c
	expect 2 'is for pools in plain files' "$wort" put --sync process . a b c
	"$wort" create --sync process pool.img names
	"$wort" put --sync process pool.img names a b
	"$wort" backup -q pool.img pool.bak >/dev/null
	"$wort" destroy --sync process pool.img names
	"$wort" restore -q --sync process pool.bak pool.img >/dev/null
	"$wort" rename --sync process pool.img names people
	expect 0 '^b$' "$wort" get pool.img people a
}

# Sessions that store one record each do not take all extents, of which none is full.
check_short_sessions()
{
	local i

	"$wort" format --size 1M short.img >/dev/null
	"$wort" create --sync process short.img names
	for ((i = 0; i < 300; i++)); do
		"$wort" put --sync process short.img names "$i" "$i"
	done
	"$wort" put --sync process short.img names long "$(head -c 20000 /dev/zero | tr '\0' x)"
	expect 0 '^clean$' "$wort" check short.img
}

# A dump that cannot be written leaves the one before, and a file that it made is gone.
check_dump()
{
	"$wort" format --size 4M dumped.img >/dev/null
	"$wort" create dumped.img names
	seq 1 2000 | sed 's/.*/&\t&/' | "$wort" load -q --sync process dumped.img names >/dev/null
	"$wort" dump dumped.img names good.tsv
	[ "$(wc -l <good.tsv)" -eq 2000 ]
	ln -s good.tsv last.tsv
	chmod 640 good.tsv
	"$wort" put --sync process dumped.img names more x
	expect 3 'cannot write all of the records: File too large' \
		bash -c 'trap "" XFSZ; ulimit -f 4; "$0" dump dumped.img names last.tsv' "$wort"
	[ "$(wc -l <good.tsv)" -eq 2000 ]
	"$wort" dump dumped.img names last.tsv
	[ "$(wc -l <good.tsv)" -eq 2001 ]
	[ -L last.tsv ]
	[ "$(stat -c %a good.tsv)" = 640 ]
	[ -z "$(find . -name 'good.tsv.*')" ]
	expect 3 'cannot write all of the records: No space' "$wort" dump dumped.img names /dev/full
	ln -s behind.tsv leads.tsv
	"$wort" dump dumped.img names leads.tsv
	[ "$(wc -l <behind.tsv)" -eq 2001 ]
	ln -s /proc/self/fd/1 out.tsv
	( exec >unnamed && rm unnamed && "$wort" dump dumped.img names out.tsv )
	[ -L out.tsv ]
	( ulimit -f 4; ! "$wort" dump dumped.img names cut.tsv ) 2>/dev/null
	[ -z "$(find . -name 'cut.tsv*')" ]
}

# Where the name can be given to no other file, the file itself is written.
check_bound_dump()
{
	mkdir -m 1777 shared
	touch shared/bound.tsv mounted.tsv
	chmod 666 shared/bound.tsv dumped.img
	chmod 755 .
	if setpriv --reuid 65534 --clear-groups "$wort" --version >/dev/null 2>&1; then
		setpriv --reuid 65534 --clear-groups "$wort" dump dumped.img names shared/bound.tsv
		[ "$(wc -l <shared/bound.tsv)" -eq 2001 ]
	fi
	unshare -m true 2>/dev/null || return 0
	unshare -m bash -c 'mount --bind good.tsv mounted.tsv && : >good.tsv &&
		"$0" dump dumped.img names mounted.tsv' "$wort"
	[ "$(wc -l <good.tsv)" -eq 2001 ]
}

# A backup may come through a pipe; what is no backup changes nothing.
check_restore()
{
	"$wort" format --size 4M from.img >/dev/null
	"$wort" create from.img names
	seq 1 2000 | sed 's/.*/&\t&/' | "$wort" load -q --sync process from.img names >/dev/null
	"$wort" format --size 4M to.img >/dev/null
	expect 3 'no backup, or damaged' \
		bash -c 'head -c 9999 /dev/zero | "$0" restore - to.img' "$wort"
	expect 3 'absent/wort.*No such file' \
		bash -c 'echo a | TMPDIR=absent "$0" restore - to.img' "$wort"
	expect 0 '^1 indexes, 2000 records' \
		bash -c '"$0" backup -q from.img - | "$0" restore -q - to.img' "$wort"
	expect 0 '^2000$' "$wort" count to.img names
	"$wort" destroy to.img names
	"$wort" backup -q from.img from.bak >/dev/null
	{ echo behind; cat from.bak; } >behind.bak
	expect 0 '^1 indexes' \
		bash -c '{ read -r; "$0" restore -q - to.img; } <behind.bak' "$wort"
	expect 3 'Is a directory' "$wort" restore . to.img
	"$wort" destroy to.img names
	expect 0 '^1 indexes' bash -c '"$0" restore -q <(cat from.bak) to.img' "$wort"
	cmp <("$wort" dump from.img names) <("$wort" dump to.img names)
}

# A second process is told which has the file open.
check_exclusive()
{
	"$wort" create pool.img names
	{ "$wort" load -q pool.img names <fifo >/dev/null; } &
	exec 3>fifo
	printf 'first\tline\n' >&3
	wait_until is_open pool.img
	expect 3 'process [0-9]* (wort) has it open' "$wort" put pool.img names a b
	expect 3 'process [0-9]* (wort) has it open' "$wort" check pool.img
	expect 3 '"errno": *"EAGAIN"' "$wort" put -o json pool.img names a b
	expect 3 'process [0-9]* (wort) has it open' "$wort" format -f pool.img
	exec 3>&-
	wait $!
	expect 0 '^line$' "$wort" get pool.img names first
	"$wort" put pool.img names a b
	seq 1 20000 | sed 's/.*/&\t&/' | "$wort" load -q --sync process pool.img names >/dev/null
	expect 3 'process [0-9]* (wort) has it open' \
		bash -c '"$0" dump pool.img names | "$0" load pool.img copy' "$wort"
}

# A full pool takes more when its file has grown; what is refused leaves the file as it is.
check_grow()
{
	"$wort" format --size 1M grown.img >/dev/null
	"$wort" create grown.img names
	seq 1 30000 | sed 's/.*/&\t&/' >records
	expect 3 'let it grow (wort grow' "$wort" load -q --sync process grown.img names records
	expect 3 'the file is larger' "$wort" grow -s 512k grown.img
	expect 2 'a size of 0' "$wort" grow -s 0 grown.img
	expect 3 'larger than a pool can be' "$wort" grow -s 17T grown.img
	expect 3 'than a file may be here' \
		bash -c 'trap "" XFSZ; ulimit -f 4096; "$0" grow -s 8M grown.img' "$wort"
	[ "$(stat -c %s grown.img)" -eq $((1 << 20)) ]
	expect 0 '^1048576 bytes, 1048576 before$' "$wort" grow grown.img
	expect 0 '^2097152 bytes, 1048576 before$' "$wort" grow --size 2M grown.img
	if fallocate -n -o 2M -l 8M grown.img; then
		"$wort" grow grown.img >/dev/null
		[ $(($(stat -c '%b * %B' grown.img))) -lt $((4 << 20)) ]
	fi
	truncate -s 4M grown.img
	expect 0 '"former_size": *2097152' "$wort" grow -o json --sync process grown.img
	[ $(($(stat -c '%b * %B' grown.img))) -ge $((4 << 20)) ]
	"$wort" load -q --sync process grown.img names records >/dev/null
	expect 0 '^30000$' "$wort" count grown.img names
	expect 0 '^clean$' "$wort" check grown.img
	cp grown.img copied.img
	dd if=/dev/zero of=copied.img bs=4096 seek=1 count=2 conv=notrunc status=none
	exec 4<copied.img
	flock 4
	expect 3 'has it open' "$wort" check --clear --from-copy --yes copied.img
	"$wort" check --clear --from-copy --yes --wait 600 copied.img >waited 2>&1 &
	sleep 0.2
	flock -u 4
	wait $!
	grep -q '^clean$' waited
	truncate -s 3M grown.img
	expect 3 'larger than what it lies on' "$wort" grow -s 8M grown.img
	[ "$(stat -c %s grown.img)" -eq $((3 << 20)) ]
	expect 1 'there is no pool' "$wort" grow -s 8M records
	cmp records <(seq 1 30000 | sed 's/.*/&\t&/')
	expect 1 'no such' "$wort" grow -s 8M nosuch.img
	expect 3 'neither a file nor a device' "$wort" grow -s 8M /dev/null
	sed 's/names/nemas/' large.img >damaged.img
	"$wort" check -c damaged.img >/dev/null 2>&1 || true
	expect 4 'damage was found' "$wort" grow -s 8M damaged.img
	[ "$(stat -c %s damaged.img)" -eq $((3 << 20)) ]
	if [ -b /dev/loop0 ]; then
		expect 3 'wort attach --grow /dev/loop0' "$wort" grow /dev/loop0
	fi
}

# In a filesystem that is full the file keeps its size.  It takes mount(2).
check_grow_full()
{
	mkdir full
	if ! unshare -m mount -t tmpfs none full 2>/dev/null; then
		echo "# no mount(2): nothing was asked of a full filesystem"
		return
	fi
	unshare -m bash -c '
		set -eu
		. "$1"
		mount -t tmpfs -o size=2M none full
		"$0" format --size 1M full/pool.img >/dev/null
		expect 3 "has less space than that" "$0" grow -s 8M full/pool.img
		expect 3 "df full" "$0" grow -s 8M full/pool.img
		[ "$(stat -c %s full/pool.img)" -eq $((1 << 20)) ]
		truncate -s 8M full/holes.img
		expect 3 "less space than that" "$0" format full/holes.img
		[ "$(df --output=used full | tail -n 1)" -le 1100 ]
		expect 0 "^clean$" "$0" check full/pool.img' "$wort" "$here/expect.sh"
}

# Who waits for a file finds it as those before have left it, with another size, too.
check_wait()
{
	local put get i

	"$wort" format --size 1M wait.img >/dev/null
	"$wort" create wait.img names
	"$wort" format --size 3M large.img >/dev/null
	"$wort" create large.img names
	"$wort" put large.img names first x
	exec 4<wait.img
	flock 4
	expect 3 "try: wort put --wait 60 wait.img 'a name' b$" "$wort" put wait.img 'a name' b
	expect 3 'try: wort grow --wait 60 -s 8M wait.img$' "$wort" grow -s 8M wait.img
	expect 3 'try: wort list --wait 60 wait.img$' "$wort" list wait.img
	expect 3 'try: wort put --wait 60 ARGUMENT...$' \
		"$wort" put wait.img names a "$(printf %05000d 0)"
	expect 3 'has it open$' "$wort" list --wait 0.1 wait.img
	[ "$("$wort" list --wait 0 wait.img 2>&1 | wc -l)" -eq 1 ]
	expect 2 'not a number of seconds' "$wort" list --wait never wait.img
	"$wort" put --wait 600 wait.img names second y &
	put=$!
	"$wort" get --wait 600 wait.img names first >waited &
	sleep 0.2
	cat large.img >wait.img
	flock -u 4
	wait $put
	wait $!
	[ "$(cat waited)" = x ]
	flock 4
	"$wort" get --wait 600 wait.img names first >waited &
	get=$!
	"$wort" put --wait 600 wait.img names second y &
	put=$!
	sleep 0.2
	cp large.img other.img
	mv other.img wait.img
	flock -u 4
	wait $put
	wait $get
	[ "$(cat waited)" = x ]
	expect 0 '^2$' "$wort" count wait.img names
	for ((i = 0; i < 20; i++)); do
		"$wort" put --wait 600 wait.img names $i $i &
	done
	wait
	expect 0 '^22$' "$wort" count wait.img names
	expect 0 '^clean$' "$wort" check --wait 600 wait.img
}

# Both superblocks at the beginning are damaged: each message leads to the copy at the end.
check_damaged_beginning()
{
	local front at

	"$wort" format --size 1M front.img >/dev/null
	"$wort" create front.img names
	"$wort" put front.img names k v
	for at in 4196 8292; do
		printf U | dd of=front.img bs=1 seek=$at conv=notrunc status=none
	done
	front=$(md5sum front.img)
	expect 1 'check --clear --from-copy' "$wort" doctor front.img
	expect 3 'check --clear --from-copy' "$wort" check front.img
	expect 3 'check --clear --from-copy' "$wort" list front.img
	expect 3 'check --clear --from-copy' "$wort" format front.img
	[ "$(md5sum front.img)" = "$front" ]
	expect 0 '^clean$' "$wort" check --clear --from-copy --yes front.img
	expect 0 '^v$' "$wort" get front.img names k
}

# What is refused leaves the pool as it is, and nothing is written over it.
check_refusals()
{
	local before

	"$wort" format --size 1M sound.img >/dev/null
	"$wort" create sound.img 'index one'
	"$wort" create sound.img 'index two'
	before=$(md5sum sound.img)
	expect 3 'is the pool itself' "$wort" dump sound.img 'index one' sound.img
	expect 3 'is the pool itself' "$wort" backup sound.img ./sound.img
	expect 3 'is the pool itself' \
		bash -c 'echo a | "$0" load --ack sound.img sound.img "index one"' "$wort"
	expect 3 'a pool is on the device' "$wort" format --size 2M sound.img
	expect 2 'it takes -c' "$wort" check --from-copy --yes sound.img
	expect 2 'exclude each other' "$wort" put -c -r sound.img 'index one' a
	expect 2 'exclude each other' "$wort" load -c -r sound.img 'index one'
	expect 3 'No space left' "$wort" backup sound.img /dev/full
	if mknod block b 7 250 2>/dev/null; then
		expect 3 "would overwrite the device" "$wort" backup sound.img block
	fi
	[ -c /dev/full ]
	[ "$(md5sum sound.img)" = "$before" ]
	ln -s copy link
	: >copy
	"$wort" backup -q sound.img link >/dev/null
	[ -L link ]
	[ -s copy ]
	sed 's/index two/index owt/' sound.img >damaged.img
	expect 4 'damage was found' "$wort" list damaged.img
	expect 4 'damage was found' "$wort" backup damaged.img part
	[ ! -e part ]
	: >nothing
	expect 1 'there is no pool' "$wort" put nothing names a
	expect 3 'neither a file nor a device' "$wort" put . names a
	expect 3 'neither a block device nor a file' "$wort" format .
	expect 3 'neither a block device nor a file' "$wort" format --size 2M /dev/null
	expect 1 'makes one in a plain file' "$wort" create ./nosuch.img names
	expect 0 'contents *pool' "$wort" doctor sound.img
	expect 0 'needs neither module' "$wort" doctor nothing
	: >kept.part
	chmod 600 kept.part
	cp sound.img x.part
	"$wort" backup -q x.part x >/dev/null
	cmp sound.img x.part
	"$wort" backup -q sound.img kept.part >/dev/null
	[ "$(stat -c %a kept.part)" = 600 ]
	[ -z "$(find . -name '*.part.*')" ]
	expect 3 'is a backup' "$wort" format --size 1M kept.part
	cp sound.img beginning.img
	dd if=/dev/zero of=beginning.img bs=4096 seek=1 count=2 conv=notrunc status=none
	before=$(md5sum <beginning.img)
	expect 3 'check --clear --from-copy' "$wort" format beginning.img
	[ "$(md5sum <beginning.img)" = "$before" ]
	{ head -c 2M /dev/zero; cat sound.img; } >namespace.img
	printf 'NVDIMM_PFN_INFO' | dd of=namespace.img bs=1 seek=4096 conv=notrunc status=none
	if "$wort" list namespace.img >/dev/null 2>&1; then
		expect 3 'a pool is on the device' "$wort" format namespace.img
	fi
	expect 2 'not a UUID of a pool' \
		"$wort" format -f -U 00000000-0000-0000-0000-000000000000 sound.img
	if device=$(losetup -f --show kept.part 2>/dev/null); then
		expect 3 'would overwrite the device' "$wort" dump sound.img 'index one' "$device"
		expect 3 'would overwrite the device' \
			bash -c 'echo a | "$0" load --ack "$1" sound.img "index one"' "$wort" "$device"
		losetup -d "$device"
	fi
	expect 3 'line 1: too long' "$wort" load sound.img 'index one' /dev/zero
	expect 3 'line 1: too long' bash -c '"$0" atomic sound.img </dev/zero' "$wort"
}

# Each acknowledged record is there after a kill, and the pool is sound.
check_kills()
{
	local i way last=0

	"$wort" create pool.img kills
	for ((i = 0; i < kills; i++)); do
		way=media
		[ $((i % 2)) -eq 0 ] || way=process
		rm -f said
		set -m
		( for ((k = last + 1; ; k++)); do
			"$wort" put --sync $way pool.img kills "$(printf %08d $k)" $k
			echo $k
		done ) >said 2>/dev/null &
		set +m
		wait_until test -s said
		sleep 0.1
		kill -KILL -- -$!
		wait $! 2>/dev/null || true
		# A process that is killed in an msync() ends when that has ended.
		wait_until is_closed pool.img
		last=$(tail -n 1 said)
		expect 0 "^$last\$" "$wort" get pool.img kills "$(printf %08d "$last")"
		[ "$("$wort" count pool.img kills)" -ge "$last" ]
		last=$("$wort" count pool.img kills)
	done
	expect 0 '^clean$' "$wort" check pool.img
	echo "# $kills kills, $last records: nothing lost"
}

mkfifo fifo
check_first_record
check_format
check_short_sessions
check_dump
check_bound_dump
check_restore
check_exclusive
check_wait
check_grow
check_grow_full
check_damaged_beginning
check_refusals
check_kills
