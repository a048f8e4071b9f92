#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# demo.sh [ENGINE]: a pool in a virtual machine, filled with a file tree and a
# dictionary; the machine is killed in mid-load and booted again; nothing
# that was acknowledged may be missing.  Takes one or two minutes after the
# one-time downloads.  Leaves its files in build/demo.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"
export LC_ALL=C

here=$wort_top/selftests/demo
scripts=$wort_top/selftests/scripts
out=${O:-$wort_top/build}/demo
wort=$out/userlib/wort
image=$out/pmem.img
cache=$(wort_cache)

nr_tree=100000
nr_small=1000
nr_large=400000
pmem_mib=384

engine=${1:-}

failures=0
began=$(now_ms)
runner=

title()
{
	printf '\n== %s\n' "$*"
}

# verify TEXT COMMAND...: a promise, kept or not.
verify()
{
	local text=$1
	shift

	if "$@"; then
		printf 'holds   %s\n' "$text"
	else
		printf 'FAILS   %s\n' "$text"
		failures=$((failures + 1))
	fi
}

# ---- what there has to be ----

# The package is unpacked, not installed.
fetch_words()
{
	local work installed=/usr/share/dict/american-english-insane

	[ ! -e "$installed" ] || { echo "$installed"; return; }
	if [ ! -e "$cache/words/american-english-insane" ]; then
		is_debian ||
			die "no word list: put one at $installed"
		mkdir -p "$cache"
		work=$(mktemp -d "$cache/words.XXXXXX")
		(cd "$work" && apt-get -qq -o APT::Sandbox::User=root \
			download wamerican-insane >&2) ||
			die "cannot download wamerican-insane: apt-get update," \
				"then try again"
		dpkg -x "$work"/*.deb "$work/root"
		mkdir -p "$cache/words"
		cp "$work/root$installed" "$cache/words/"
		rm -rf "$work"
	fi
	echo "$cache/words/american-english-insane"
}

prepare_machine()
{
	local begin
	begin=$(now_ms)

	title "Kernel, tools and data (downloaded once)"
	"$scripts/deps.sh" build vm
	flavour=$("$scripts/kernel.sh" flavours | cut -d ' ' -f 1)
	"$scripts/kernel.sh" fetch "$flavour"
	listing=$("$scripts/kernel.sh" tools)/listing.txt.gz
	words=$(fetch_words)
	echo "ready in $(seconds_since "$begin") s"
	began=$(now_ms)
}

build_all()
{
	local begin
	begin=$(now_ms)

	title "Module and tools"
	make -s -C "$wort_top/userlib" O="$out/userlib" all
	# In the guest nothing but the command itself is needed then.
	guest_wort=$wort
	if make -s -C "$wort_top/userlib" O="$out/userlib" static \
		>"$out/static.log" 2>&1; then
		guest_wort=$out/userlib/wort-static
	fi
	"$wort_top/selftests/lint/kbuild.sh" -n -o "$out" "$flavour" gcc
	echo "wort.ko for $flavour, $(basename "$guest_wort")," \
		"built in $(seconds_since "$begin") s"
}

# ---- data: key TAB value, with the backslash escapes of "wort load" ----

# path TAB "size mode mtime", from tar's listing of the kernel source
listed_tree()
{
	gzip -dc "$listing" | awk '{
		path = $0
		for (i = 0; i < 5; i++)
			sub(/^[^ ]+ +/, "", path)
		if ($1 ~ /^l/)
			sub(/ -> .*/, "", path)
		sub(/^linux-source-[^\/]*\//, "linux/", path)
		print path "\t" $3 " " $1 " " $4 "T" $5
	}'
}

# The files of this machine's packages, then any files.
local_tree()
{
	cat /var/lib/dpkg/info/*.list 2>/dev/null |
		xargs -d '\n' -r stat --printf '%n\t%s %A %Y\n' 2>/dev/null ||
		true
	find /usr -xdev -printf '%p\t%s %M %Ts\n' 2>/dev/null || true
}

# Each key once, names with line ends left out.
make_tree()
{
	{ listed_tree; local_tree; } |
		awk -F '\t' -v want="$nr_tree" '
			NF == 2 && !seen[$1]++ {
				if (n++ == want)
					exit
				print
			}' | sed 's/\\/\\\\/g' >"$out/tree" || true
}

# word TAB number of its line, in an order that is mixed but always the same
make_words()
{
	shuf --random-source="$words" "$words" >"$out/shuffled"
	awk '!seen[$0]++ && length($0) { print $0 "\t" FNR }' \
		"$out/shuffled" | sed 's/\\/\\\\/g' >"$out/words"
	head -n "$nr_small" "$out/words" >"$out/words.1"
	sed -n "$((nr_small + 1)),${nr_large}p" "$out/words" >"$out/words.2"
	tail -n +$((nr_large + 1)) "$out/words" >"$out/words.3"
	rm "$out/shuffled"
}

make_data()
{
	local begin nr
	begin=$(now_ms)

	title "Data"
	make_tree
	make_words
	nr=$(wc -l <"$out/tree")
	echo "$nr files: path -> size, mode, time, such as"
	sed -n '5p' "$out/tree" | sed 's/^/    /'
	[ "$nr" -ge "$nr_tree" ] || die "only $nr files: $nr_tree are needed"
	nr=$(wc -l <"$out/words")
	echo "$nr words: word -> line number"
	[ "$nr" -gt $((nr_large + 10000)) ] ||
		die "only $nr words: more than $nr_large are needed"
	echo "made in $(seconds_since "$begin") s"
}

# ---- the guests ----

# guest LOG ARGUMENT...: what it prints is shown, but for the figures.
guest()
{
	local log=$1 status=0 depends
	shift

	depends=$(modinfo -F depends "$out/wort.ko" | tr , ' ')
	# shellcheck disable=SC2046,SC2086 # one option per module
	"$wort_top/selftests/vm/run.sh" -k "$flavour" -m "$pmem_mib" \
		-i "$image" $(printf -- ' -l %s' $depends) \
		-f "$out/wort.ko" -f "$guest_wort:/root/wort" "$@" 2>&1 |
		tee "$log" | sed -u -e '/^DEMO /d' -e 's/^/    /' ||
		status=${PIPESTATUS[0]}
	return "$status"
}

# figure LOG NAME
figure()
{
	sed -n "s/^DEMO $2=//p" "$1" | tail -n 1
}

# The count that came last; a line without its end was cut off.
last_ack()
{
	local nr
	[ -s "$out/ack" ] || { echo 0; return; }
	nr=$(awk 'END { print NR }' "$out/ack")
	[ -z "$(tail -c 1 "$out/ack")" ] || nr=$((nr - 1))
	sed -n "${nr}p" "$out/ack" | grep . || echo 0
}

# Whoever ends the demonstration must not leave a guest behind.
cleanup()
{
	local pid

	[ -n "$runner" ] || return 0
	pid=$(cat "$out/qemu.pid" 2>/dev/null) && kill "$pid" 2>/dev/null
	wait "$runner" || true
}

# Death comes when a good third of the last part is acknowledged.
kill_in_mid_load()
{
	local enough=$(($(wc -l <"$out/words.3") / 3))

	while [ "$(last_ack)" -lt "$enough" ]; do
		kill -0 "$runner" 2>/dev/null || return 0
		sleep 0.05
	done
	kill -9 "$(cat "$out/qemu.pid")"
}

first_boot()
{
	local status=0

	title "First boot: fill the pool; the machine is killed in mid-load"
	echo "(The processor is emulated: times in the guest say nothing.)"
	rm -f "$image" "$out/ack" "$out/qemu.pid"
	guest "$out/first.log" -f "$here/load.sh" -f "$out/tree" \
		-f "$out/words.1" -f "$out/words.2" -f "$out/words.3" \
		-p "$out/qemu.pid" -A "$out/ack" -t 240 -c "sh /root/load.sh $engine" &
	runner=$!
	kill_in_mid_load
	wait "$runner" || status=$?
	runner=
	[ "$status" -eq 93 ] ||
		die "the guest was to be killed, but it ended with $status"
	acked=$(last_ack)
	echo "QEMU was killed with SIGKILL: $acked of" \
		"$(wc -l <"$out/words.3") records of the last part had been" \
		"acknowledged"
}

second_boot()
{
	local key

	title "Second boot, on the same memory"
	key=$(sed -n "${acked}p" "$out/words.3" | cut -f 1)
	expected=$(sed -n "${acked}p" "$out/words.3" | cut -f 2)
	verify "the second guest ran to its end" \
		guest "$out/second.log" -f "$here/recover.sh" -t 240 \
		-c "sh /root/recover.sh $(printf %q "$key")"
}

# ---- what the dead machine left ----

# compare DUMP NR_SURE SENT...: of the records sent, in their order, the
# first NR_SURE must be in the dump with their values, the others may, and
# nothing else.
compare()
{
	local dump=$1 sure=$2
	shift 2

	cat "$@" | awk -v sure="$sure" '
		FNR == NR { have[$0] = 1; n++; next }
		{
			sent++
			if ($0 in have)
				found++
			else if (sent <= sure)
				missing++
		}
		END {
			printf "        %d there, %d acknowledged and missing, " \
				"%d never sent\n", n, missing, n - found
			exit missing || n != found
		}' "$dump" -
}

# Read from the image, with neither the module nor a guest.
look_at_image()
{
	title "What the dead machine left, read from the image file"
	"$wort" dump "$image" words >"$out/words.dump"
	"$wort" dump "$image" tree >"$out/tree.dump"
	verify "wort check finds the image clean" "$wort" check "$image"
	verify "every acknowledged word is there, and none that was not sent" \
		compare "$out/words.dump" $((nr_large + acked)) "$out/words"
	verify "every file is there, and nothing else" \
		compare "$out/tree.dump" "$nr_tree" "$out/tree"
}

compare_second()
{
	local log=$out/second.log sum
	sum=$(sha256sum <"$out/words.dump" | cut -d ' ' -f 1)

	verify "a lookup during the walk: the last word acknowledged" \
		[ "$(figure "$log" value)" = "$expected" ]
	verify "an insert during the walk is there" \
		[ -n "$(figure "$log" inserted)" ]
	echo "        objects walked: $(figure "$log" walked_before) before" \
		"both, $(figure "$log" walked_after) after," \
		"$(figure "$log" walked_end) in the end"
	verify "the walk was under way before and after both" \
		[ "$(figure "$log" walking_before)$(figure "$log" walking_after)" \
		= truetrue ]
	verify "wort check in the guest: clean" \
		[ "$(figure "$log" check)" = clean ]
	verify "the module reads the same words as the image gave" \
		[ "$(figure "$log" words_sum)" = "$sum" ]
	verify "the insert left its record and nothing else" \
		[ "$(figure "$log" keys_tree)" = $((nr_tree + 1)) ]
}

# Attach reads the same for any number of keys, also after a crash.
compare_attach()
{
	local log=$out/first.log small large crash

	title "Cache lines of the media read before attach returned"
	small=$(figure "$log" lines_small)
	large=$(figure "$log" lines_large)
	crash=$(figure "$out/second.log" lines_crash)
	printf '%8d keys: %s\n%8d keys: %s\n%8d keys: %s, after the crash\n' \
		"$(figure "$log" keys_small)" "$small" \
		"$(figure "$log" keys_large)" "$large" \
		"$(($(wc -l <"$out/words.dump") + nr_tree))" "$crash"
	verify "they are equal" \
		[ "$small" = "$large" -a "$large" = "$crash" -a -n "$small" ]
}

main()
{
	mkdir -p "$out"
	trap cleanup EXIT
	trap 'exit 143' INT TERM HUP
	prepare_machine
	build_all
	make_data
	first_boot
	look_at_image
	second_boot
	compare_second
	compare_attach
	title "Summary, $(seconds_since "$began") s without downloads"
	echo "Killing QEMU loses what the guest had not stored; it cannot lose" \
		"what was stored"
	echo "and not flushed. That is what \"make explore\" does."
	if [ "$failures" -gt 0 ]; then
		echo "$failures promises do not hold; logs are in $out"
		exit 1
	fi
	echo "Every promise held."
}

main "$@"
