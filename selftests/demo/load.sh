#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# load.sh [ENGINE]: what demo.sh runs in the first guest.  Written for busybox.  Lines that
# begin with DEMO are figures for the host; the last load never ends, since
# the machine does before it.

set -e
wort=/root/wort

figure()
{
	echo "DEMO $1=$2"
}

step()
{
	echo "--- $*"
}

lines_to_attach()
{
	"$wort" stat -o json 0 | sed -n 's/.*"attach_lines": \([0-9]*\).*/\1/p'
}

load()
{
	echo "$1: $("$wort" load -q 0 "$1" "$2")"
}

insmod /root/wort.ko
step "wort doctor, format, attach"
"$wort" doctor /dev/pmem0
"$wort" format -L demo /dev/pmem0
"$wort" attach /dev/pmem0
"$wort" create ${1:+-e "$1"} 0 tree
"$wort" create ${1:+-e "$1"} 0 words

step "1,000 words, then detach and attach again"
load words /root/words.1
"$wort" detach 0
"$wort" attach /dev/pmem0
figure keys_small "$("$wort" count 0 words)"
figure lines_small "$(lines_to_attach)"

step "all but the last part of the words, then detach and attach again"
load words /root/words.2
"$wort" detach 0
"$wort" attach /dev/pmem0
figure lines_large "$(lines_to_attach)"
figure keys_large "$("$wort" count 0 words)"

step "the file tree"
load tree /root/tree
figure keys_tree "$("$wort" count 0 tree)"

step "lookup, scan of a prefix, count"
"$wort" get 0 tree linux/MAINTAINERS
"$wort" scan -p linux/drivers/nvdimm/pm -l 5 0 tree
"$wort" count -p linux/drivers/ 0 tree

step "the last part of the words: the machine dies meanwhile"
"$wort" load -q 0 words /root/words.3 --ack "$WORT_ACK"
echo "the machine did not die in time"
exit 1
