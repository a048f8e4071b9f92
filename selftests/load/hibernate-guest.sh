# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What a machine does in its boots; hibernate.sh says in which order.  Written for
# busybox.  $WORT_ACK keeps what is written to it.

wort=./wort-static

say()
{
	echo "$*" >"$WORT_ACK"
}

fail()
{
	echo "hibernate: $*" >&2
	"$wort" stat 0 >&2
	exit 1
}

# figure NAME: one that the pool tells of itself.
figure()
{
	"$wort" stat 0 | sed -n "s/^$1  *//p"
}

records()
{
	seq "$1" "$2" | sed 's/.*/key-&	value-&/'
}

new_pool()
{
	insmod wort.ko && mkswap /dev/vda >/dev/null && swapon /dev/vda &&
		"$wort" format -f /dev/pmem0 && "$wort" attach /dev/pmem0 &&
		records 1 1000 | "$wort" load -m 0 kept &&
		records 1 200000 | "$wort" load -m 0 gone
}

# A trace of each object that is freed: then an index takes longer to be freed than the
# kernel takes to its snapshot.
slowly()
{
	cd /sys/kernel/debug/tracing || return
	if [ "$1" = 1 ]; then
		echo p:wort/free wort_alloc_free >kprobe_events
		echo stacktrace >events/wort/free/trigger
	fi
	echo "$1" >events/wort/free/enable
	cd - >/dev/null || return
}

before()
{
	new_pool || fail "no pool"
	say "free $(figure 'free extents')"
	records 1 100000000 | "$wort" load -m 0 busy >loaded 2>&1 &
	sleep 1
	slowly 1
	"$wort" destroy 0 gone
	grep -o '^[0-9:]*' /sys/block/vda/dev >/sys/power/resume
	echo shutdown >/sys/power/disk
	say "begin"
	echo disk >/sys/power/state || fail "the kernel does not hibernate"
	if "$wort" get 0 kept key-1 >/dev/null; then
		unchanged
	else
		changed
	fi
}

unchanged()
{
	[ "$(figure 'dying indexes')" = 1 ] || fail "nothing was being freed"
	slowly 0
	had=$("$wort" count 0 busy)
	sleep 2
	[ "$("$wort" count 0 busy)" -gt "$had" ] ||
		fail "the program that stores does not go on"
	kill %1
	wait
	until [ "$(figure 'dying indexes')" = 0 ]; do
		sleep 0.2
	done
	[ "$("$wort" count 0 kept)" = 1000 ] || fail "records are lost"
	"$wort" check 0 || fail "the check found something"
	say "unchanged: ok"
}

changed()
{
	wait
	grep -q 'the pool is dead' loaded || fail "load: $(cat loaded)"
	dmesg | grep -q 'pmem0: somebody else has stored' || fail "not said"
	"$wort" list | grep -q dead || fail "it is listed as if it lived"
	"$wort" detach 0 && "$wort" attach /dev/pmem0 ||
		fail "it cannot be attached again"
	"$wort" get 0 kept other || fail "what the other stored is lost"
	"$wort" check 0 || fail "the check found something"
	say "changed: ok"
}

# Another system on the machine: it sees the memory as the first one left it.
other()
{
	insmod wort.ko && "$wort" attach -r /dev/pmem0 || fail "no pool"
	until [ "$(figure 'free extents')" != unknown ]; do
		sleep 0.1
	done
	say "found $(figure 'free extents')"
	"$wort" detach 0
}

touched()
{
	other
	"$wort" attach /dev/pmem0 && "$wort" put 0 kept other stored &&
		"$wort" check 0 && "$wort" detach 0
}

# The kernel ends here, if there is a system to come back to.
resume()
{
	grep -o '^[0-9:]*' /sys/block/vda/dev >/sys/power/resume
	fail "there is nothing to come back to"
}
