#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# What demo.sh runs in the second guest, on the memory that the first one
# left.  Written for busybox.  Lines that begin with DEMO are figures for
# the host.  Arguments: a word that was acknowledged.

set -e
wort=/root/wort
key=$1

figure()
{
	echo "DEMO $1=$2"
}

step()
{
	echo "--- $*"
}

# json NAME: a member of what the pool says of itself.
json()
{
	sed -n "s/.*\"$1\": \\([a-z0-9]*\\).*/\\1/p" "$2"
}

# A lookup and an insert between two looks at the pool.  Everything between
# them is a process to start, so the walk may win the race: try again.
during_walk()
{
	"$wort" attach /dev/pmem0 >/dev/null
	"$wort" stat -o json 0 >before
	"$wort" get 0 words "$key" >value
	"$wort" put 0 tree "inserted during the walk" "try $1"
	"$wort" stat -o json 0 >after
	[ "$(json walking after)" != true ] || return 0
	"$wort" detach 0
	return 1
}

wait_for_walk()
{
	until "$wort" stat -o json 0 >end && [ "$(json walking end)" = false ]
	do
		sleep 0.1
	done
}

insmod /root/wort.ko
step "attach; a lookup and an insert while the walk goes on"
for try in 1 2 3 4 5; do
	during_walk $try && break
done
figure lines_crash "$(json attach_lines before)"
figure walking_before "$(json walking before)"
figure walked_before "$(json walk_records before)"
figure walking_after "$(json walking after)"
figure walked_after "$(json walk_records after)"
figure value "$(cat value)"
figure inserted "$("$wort" get 0 tree "inserted during the walk")"
wait_for_walk
figure walked_end "$(json walk_records end)"

step "wort check"
"$wort" check 0 && figure check clean

step "dump, through the module"
figure words_sum "$("$wort" dump -q 0 words | sha256sum | cut -d ' ' -f 1)"
figure keys_words "$("$wort" count 0 words)"
figure keys_tree "$("$wort" count 0 tree)"
"$wort" detach 0
rmmod wort
