#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# command.sh WORT DEVICE: the wort command against the module, which is
# loaded, on a device whose contents are lost.  For a guest: written for
# busybox.

wort=$1 device=$2
failures=0

# expect STATUS TEXT COMMAND...: its status, and a pattern in what it prints.
expect()
{
	status=0 want=$1 text=$2
	shift 2
	said=$("$@" 2>&1) || status=$?
	if [ "$status" -ne "$want" ] || ! echo "$said" | grep -q -- "$text"; then
		echo "$*: status $status instead of $want, or no \"$text\" in:"
		echo "$said"
		failures=$((failures + 1))
	fi
}

cd "$(mktemp -d)" || exit
if command -v mke2fs >/dev/null; then
	mke2fs -F "$device" >/dev/null 2>&1
	expect 3 'something else (ext' "$wort" format "$device"
	expect 1 'PROBLEM.*contents.*ext' "$wort" doctor "$device"
	dd if=/dev/zero of="$device" bs=4096 count=16 2>/dev/null
fi
expect 1 'there is no pool' "$wort" attach "$device"
expect 1 'no such pool' "$wort" detach 0
expect 3 'no such device\|not a block' "$wort" attach /dev/null
expect 1 'no such device' "$wort" attach /dev/absent
expect 2 'power of two' "$wort" format -e 5000 "$device"
expect 0 '11111111-2222-4333-8444-555555555555' \
	"$wort" format -L one -U 11111111-2222-4333-8444-555555555555 "$device"
expect 3 'format -f' "$wort" format "$device"
expect 0 '"label": "two"' "$wort" format -f -L two -o json "$device"
expect 0 'pool .* two' "$wort" doctor "$device"
expect 1 'there such a pool' "$wort" attach LABEL=one
expect 0 '/dev/wort0' "$wort" attach LABEL=two
expect 3 'in use\|attached' "$wort" attach "$device"
expect 3 'in use\|pool' "$wort" format -f "$device"
expect 0 'attached as /dev/wort0' "$wort" doctor "$device"
expect 0 ' two$' "$wort" list
expect 0 '"minor": 0' "$wort" list -o json

for pool in 0 wort0 /dev/wort0 two LABEL=two "$device"; do
	expect 0 . "$wort" stat "$pool"
done
expect 1 'no such pool' "$wort" stat LABEL=one
expect 1 'no such pool' "$wort" stat 7

expect 0 '' "$wort" create 0 a
expect 3 'index of this name' "$wort" create 0 a
expect 0 '' "$wort" create -k 0 a
expect 1 'no such index' "$wort" put 0 b k v
expect 0 '' "$wort" put 0 a k v
expect 3 'the key exists' "$wort" put -c 0 a k w
expect 1 'was to be replaced' "$wort" put -r 0 a l w
expect 0 '^v$' "$wort" get 0 a k
expect 0 '^76$' "$wort" get -x 0 a 6b
expect 0 '^v$' "$wort" put -O 0 a k w
expect 0 '' "$wort" put -O 0 a new x
expect 1 'not the one expected' "$wort" cas 0 a k v x
expect 1 '^w$' "$wort" cas -O 0 a k v x
expect 0 '^w$' "$wort" cas -O 0 a k w v
expect 1 'no such key' "$wort" cas 0 a absent v w
expect 1 'not the one expected' "$wort" del -e w 0 a new
expect 0 '^x$' "$wort" del -O -e x 0 a new
expect 1 'no such key' "$wort" get 0 a absent
expect 2 'not hexadecimal' "$wort" get -x 0 a k
expect 2 'not a 64-bit number' "$wort" get -n 0 a -- -1
expect 2 'at least one byte' "$wort" get 0 a ''
expect 2 'exclude each other' "$wort" scan -s a -a b 0 a
expect 2 'at most 1024' "$wort" put 0 a "$(printf '%01025d' 0)" v

# what goes in comes out, whatever the bytes
printf 'a\\tb\tone\\\\two\\n\n\\x00\\xff\t\nz\303\244\tu\n' >in.tsv
expect 0 '^3 records' "$wort" load -m 0 odd in.tsv --ack ack
expect 0 '^3$' cat ack
for format in tsv jsonl; do
	expect 0 '' "$wort" dump -F $format 0 odd out
	expect 0 '^3 records' "$wort" load -F $format -m 0 "odd-$format" out
	"$wort" dump -x 0 odd >one
	"$wort" dump -x 0 "odd-$format" >two
	expect 0 '' cmp one two
done
expect 0 '^6109\?62' cat one
expect 0 '^00ff	$' cat one
expect 3 'line 2: no tab' sh -c "printf 'k\tv\nbad\n' | $wort load 0 a"
expect 3 'line 1: the key exists' \
	sh -c "printf 'k\tv\n' | $wort load -c 0 a"
for i in 1 2 300; do
	echo "$i" | "$wort" put -n -f - 0 a "$i"
done
expect 0 '^300	300\\n$' "$wort" scan -n -s 3 -l 1 0 a
expect 0 '"key":300' "$wort" scan -n -s 3 -l 1 -o json 0 a
expect 0 '^4$' "$wort" count 0 a
expect 0 '^k$' "$wort" scan -k -r -l 1 0 a
expect 1 'no such key' "$wort" del 0 a k k

# several records, all or none
expect 0 '' "$wort" create 0 b
printf 'put\ta\told\tv\nget\ta\told\nabsent\tb\tnew\n' >batch
expect 0 '^expect	a	old	v$' "$wort" atomic 0 batch
printf 'absent\tb\tnew\ndel\ta\told\tv\ninsert\tb\tnew\tv\n' >batch
expect 0 '' "$wort" atomic 0 batch
expect 1 'line 1: absent b new: the key exists' "$wort" atomic 0 batch
expect 1 'no such key' "$wort" get 0 a old
expect 0 '^v$' "$wort" get 0 b new
expect 0 '^atomic batches *2$' "$wort" stat 0
expect 0 '"atomic_refused": 1,' "$wort" stat -o json 0
expect 0 '^atomic  *2 ' "$wort" stat 0 a
expect 0 '' "$wort" rename 0 b c
expect 1 'no such index' "$wort" rename 0 b d
expect 3 'an index has this name already' "$wort" rename 0 c a
expect 3 'an index has this name already' "$wort" rename 0 c c
expect 2 'at least one byte' "$wort" rename 0 c ''
expect 3 'too long' "$wort" rename 0 c "$(printf '%0112d' 0)"
expect 1 'no such index' "$wort" get 0 b new
expect 0 '^v$' "$wort" get 0 c new
expect 0 '"former_name": "c"' "$wort" rename -o json 0 c b
expect 0 '^v$' "$wort" get 0 b new
expect 0 '' "$wort" destroy 0 b

# Without root: what sysfs tells everybody, and what the mode of the pool allows.
mkdir -p /etc
grep -q '^nobody:' /etc/passwd 2>/dev/null ||
	echo 'nobody:x:65534:65534:nobody:/:/bin/sh' >>/etc/passwd
as_nobody()
{
	su -s /bin/sh nobody -c "$*"
}
expect 0 ' two$' as_nobody "$wort" list
expect 3 'permission denied' as_nobody "$wort" count two a
expect 3 'permission denied' as_nobody "$wort" attach LABEL=two
chmod o+r /dev/wort0
expect 0 '^3$' as_nobody "$wort" count two a
expect 0 '^3$' as_nobody "$wort" count LABEL=two a
chmod o-r /dev/wort0

expect 0 '' "$wort" destroy 0 odd
expect 1 'no such index' "$wort" destroy 0 odd
expect 0 '^clean' "$wort" check 0
expect 0 ' [1-9][0-9]* *3  a$' "$wort" check 0
expect 0 '"clean": true' "$wort" check -c -o json 0
expect 0 '^insert' "$wort" stat 0 a
expect 3 'attached already' "$wort" attach LABEL=two
expect 0 '"pool": "/dev/wort0"' "$wort" detach -o json two
uuid=$("$wort" doctor "$device" | sed -n 's/.*pool \([0-9a-f-]*\) .*/\1/p')
expect 0 '/dev/wort0' "$wort" attach "UUID=$uuid"
expect 0 '' "$wort" detach two
expect 0 '/dev/wort0' "$wort" attach --read-only "$device"
expect 0 'read-only .* two$' "$wort" list
expect 0 '"read_only": true' "$wort" stat -o json 0
expect 0 '^3$' "$wort" count 0 a
expect 4 'attached read-only' "$wort" put 0 a k v
expect 4 'attached read-only' "$wort" check --clear 0
expect 0 '^clean' "$wort" check 0
expect 0 '' "$wort" detach two
expect 0 '^clean' "$wort" check "$device"
expect 0 '^3$' "$wort" count "$device" a
expect 3 'not attached' "$wort" put "$device" a k v
expect 3 '/dev/null: not a wort device' "$wort" get /dev/null a k

# A word of the extent table that no history can have left.
dd if=/dev/zero bs=8 count=1 2>/dev/null | tr '\0' '\377' |
	dd of="$device" bs=8 seek=2048 conv=notrunc 2>/dev/null
expect 0 '/dev/wort0' "$wort" attach -m "$device"
expect 0 'damaged .* two$' "$wort" list
expect 3 'name is too long\|too long' "$wort" create 0 "$(printf '%0112d' 0)"
expect 0 '' "$wort" detach two

# Any label names its pool, also for root without CAP_SYS_ADMIN and where
# the control device is missing, as in a container.
label=$(printf 'a/b\n\033[2J\302\233')
expect 0 . "$wort" format -f -L "$label" "$device"
expect 0 '/dev/wort0' "$wort" attach "LABEL=$label"
expect 0 '' "$wort" create 0 a
expect 0 '' "$wort" put "LABEL=$label" a k v
by_names()
{
	for name in "LABEL=$label" wort0 "$device" /dev/wort0; do
		expect 0 '^v$' "$@" "$wort" get "$name" a k
	done
	expect 0 'a/b\\n\\x1b\[2J\\xc2\\x9b$' "$@" "$wort" list
}
by_names env
by_names unshare -U -r
expect 3 'CAP_SYS_ADMIN' unshare -U -r "$wort" detach 0
expect 0 'PROBLEM.*CAP_SYS_ADMIN\|attached as' \
	unshare -U -r sh -c "$wort doctor $device || true"
mv /dev/wort-control /dev/away
by_names env
expect 3 'is missing' "$wort" detach 0
mv /dev/away /dev/wort-control
expect 1 'no such pool' "$wort" detach "LABEL=a/b"
expect 0 '' "$wort" detach "LABEL=$label"

# A device that was taken away for a moment: the live pool is meant.
again()
{
	driver=$(readlink -f "/sys/block/${device##*/}/device/driver")
	nd=$(basename "$(readlink "/sys/block/${device##*/}/device")")
	echo "$nd" >"$driver/unbind"
	echo "$nd" >"$driver/bind"
	for try in 1 2 3 4 5 6 7 8 9; do
		[ ! -b "$device" ] || break
		sleep 1
	done
}
expect 0 . "$wort" format -f -L data "$device"
expect 0 '/dev/wort0' "$wort" attach LABEL=data
again
expect 0 'dead .* data$' "$wort" list
expect 3 'wort detach 0' "$wort" list data
expect 0 'dead pool' "$wort" doctor "$device"
expect 0 '^clean' "$wort" check "$device"
expect 0 '/dev/wort1' "$wort" attach LABEL=data
expect 0 'attached as /dev/wort1' "$wort" doctor "$device"
for name in data LABEL=data "$device"; do
	expect 0 '' "$wort" create -k "$name" a
	expect 0 '^clean' "$wort" check "$name"
done
expect 0 '' "$wort" detach 0
again
expect 0 '/dev/wort0' "$wort" attach "$device"
expect 0 '^clean' "$wort" check "$device"
expect 0 'attached as /dev/wort0' "$wort" doctor "$device"
expect 0 '"minor": 0' "$wort" detach -o json data
expect 0 '"minor": 1' "$wort" detach -o json data

# Write protection is looked at by attach, and not afterwards.
expect 0 '/dev/wort0' "$wort" attach "$device"
blockdev --setro "$device"
expect 0 '' "$wort" put 0 a k v
expect 0 '' "$wort" detach 0
expect 3 'write-protected' "$wort" attach "$device"
expect 0 '/dev/wort0' "$wort" attach -r "$device"
expect 4 'attached read-only' "$wort" put 0 a k w
expect 0 '' "$wort" detach 0
blockdev --setrw "$device"
expect 0 . "$wort" format -f "$device"
expect 0 '/dev/wort0' "$wort" attach -g "$device"
dd if=/dev/zero of=long bs=70000 count=1 2>/dev/null
expect 0 '' "$wort" create 0 a
expect 3 'long: too long' "$wort" put -f long 0 a k
expect 0 '' "$wort" detach 0
[ $failures -eq 0 ]
