#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Part of run.sh, which sources it: puts the guest's root file system
# together.  Uses run.sh's variables: the options and the folder $work.
# shellcheck disable=SC2154

is_elf()
{
	[ "$(head -c 4 "$1" | tail -c 3)" = ELF ]
}

# The shared libraries of a program, at the paths where they are here.
add_libraries()
{
	local library

	while read -r library; do
		[ -e "$root$library" ] || install -D "$library" "$root$library"
	done < <(ldd "$1" 2>/dev/null | grep -o '/[^ ]*')
}

add_program()
{
	install -D "$1" "$root$2"
	add_libraries "$1"
}

# add_files SRC[:DEST]: what the option -f names.
add_files()
{
	local src=${1%%:*} dest file
	dest=/root/$(basename "$src")
	[[ $1 != *:* ]] || dest=${1#*:}

	[ -e "$src" ] || die "not found: $src"
	mkdir -p "$root$(dirname "$dest")"
	cp -RLT --preserve=mode,timestamps "$src" "$root$dest"
	while IFS= read -r -d '' file; do
		! is_elf "$file" || add_libraries "$file"
	done < <(find -L "$src" -type f \( -perm /111 -o -name '*.so*' \) -print0)
}

# load_order FOLDER NAME...: paths of modules, each after what it needs.
# The configuration of this machine's modprobe is none of the guest's.
load_order()
{
	local folder=$1 version
	version=$(basename "$folder")
	shift

	mkdir -p "$work/modprobe/lib/modules"
	ln -sfn "$folder" "$work/modprobe/lib/modules/$version"
	modprobe -C /dev/null -d "$work/modprobe" -S "$version" \
		--show-depends -a "$@" |
		awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# copy_module FILE: uncompressed, as busybox' insmod wants it; prints a name.
copy_module()
{
	local name
	name=$(basename "$1")
	name=${name%%.ko*}.ko

	case $1 in
	*.xz)	xz -dc "$1" ;;
	*.zst)	zstd -dcq "$1" ;;
	*.gz)	gzip -dc "$1" ;;
	*)	cat "$1" ;;
	esac >"$root/wort/modules/$name"
	echo "$name"
}

# A kernel without modules has everything built in.
add_modules()
{
	local bus=nfit path order names
	[ -e "$1/modules.dep" ] || return 0

	[ -z "$memmap" ] || bus=nd_e820
	names=("$bus" nd_pmem "${extra_modules[@]}")
	# A part of the kernel itself since 6.15.
	grep -q '/libcrc32c[.]ko' "$1"/modules.{dep,builtin} ||
		names=("${names[@]/#libcrc32c/crc32}")
	order=$(load_order "$1" "${names[@]}")
	for path in $order; do
		copy_module "$path"
	done
}

write_vars()
{
	cat <<-END
	vm_modules='$*'
	vm_pmem=$([ -n "$memmap" ] && echo memmap || echo nvdimm)
	vm_ack=$([ -z "$ack" ] || echo /dev/ttyS1)
	vm_shell=$shell
	END
}

# build_initramfs MODULES: $work/initrd with all that the options ask for.
build_initramfs()
{
	local loaded file root=$work/root

	need busybox vm
	need cpio vm
	need ndctl vm
	need modprobe vm
	mkdir -p "$root"/{root,wort/modules}
	install "$wort_top/selftests/vm/init.sh" "$root/init"
	add_program "$(command -v busybox)" /bin/busybox
	ln -s busybox "$root/bin/sh"
	add_program "$(command -v ndctl)" /usr/bin/ndctl
	for file in "${files[@]}"; do
		add_files "$file"
	done
	loaded=$(add_modules "$1")
	# shellcheck disable=SC2086 # one word per module
	write_vars $loaded >"$root/wort/vars"
	printf '%s\n' "$command" >"$root/wort/command"
	(cd "$root" && find . -print0 |
		cpio -0o -H newc -R 0:0 --quiet) >"$work/initrd"
	rm -rf "$root"
}
