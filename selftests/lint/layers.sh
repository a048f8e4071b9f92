#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# layers.sh [--self-test]: each layer includes only itself and those before
# it, and leaves to the others what is theirs.  Prints "path:line: reason"
# for whatever breaks that, and fails.  The self-test breaks every rule in a
# copy of the project and demands that each breakage is found.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../scripts/lib.sh
. "$(dirname "$0")/../scripts/lib.sh"
# shellcheck source-path=SCRIPTDIR source=lines.sh
. "$(dirname "$0")/lines.sh"

portable='kmod/(core|engine|pool)/'

list_sources()
{
	find kmod uapi userlib selftests -name '*.[ch]' -print0 2>/dev/null
}

report()
{
	echo "$1:$2: $3"
}

# forbid REASON WHERE EXCEPT PATTERN: extended regular expressions.
forbid()
{
	local path line

	while IFS=: read -r path line _; do
		report "$path" "$line" "$1"
	done < <(grep -E "^$2[^:]*:[0-9]+:.*($4)" "$code" | grep -v -E "^($3)")
}

check_words()
{
	forbid "a portable layer does not ask where it is compiled" \
		"$portable" '/' '\<__KERNEL__\>'
	forbid "kernel versions are told apart in kmod/compat only" \
		'' 'kmod/compat/' '\<(LINUX_VERSION_CODE|KERNEL_VERSION)\>'
	forbid "no BUG: return an error, or WARN_ON_ONCE" \
		'kmod/' '/' '\<(VM_)?BUG(_ON)?[[:space:]]*\('
	forbid "a source file is no header" \
		'kmod/' '/' '#[[:space:]]*include.*\.c[">]'
	forbid "flushes and fences belong to kmod/core/pmem.[ch]" \
		'kmod/' 'kmod/core/pmem\.[ch]:' "\\<(_*clwb|_*clflush(opt)?|$(
		)[lms]fence|arch_wb_cache_pmem|pmem_wmb|$(
		)_*memcpy_flushcache|dax_flush)\\>"
}

layer_of()
{
	case $1 in
	uapi/*)				echo uapi ;;
	kmod/include/trace/*)		echo trace ;;
	kmod/include/*)			echo api ;;
	kmod/*/*)			cut -d / -f 2 <<<"$1" ;;
	userlib/lib/* | userlib/include/*) echo library ;;
	*)				echo other ;;
	esac
}

# What each layer may include of the project.  Tracepoints know none of ours
# and have stand-ins in the shim, so every layer of the module may call them.
allowed_layers()
{
	case $1 in
	uapi)		echo uapi ;;
	trace)		echo uapi trace ;;
	core)		echo uapi trace core ;;
	engine)		echo uapi trace core engine ;;
	pool)		echo uapi trace core engine pool ;;
	api)		echo uapi api ;;
	dev)		echo uapi trace core engine pool api dev ;;
	compat)		echo compat ;;
	library)	echo uapi library other ;;
	*)		echo uapi api "$1" ;;
	esac
}

# resolve FILE NAME FORM: the project's file that an include line means.
resolve()
{
	local folder path
	local folders=("${1%/*}" kmod kmod/include uapi userlib/include)

	[ "$3" = '"' ] || folders=(kmod/include uapi userlib/include)
	for folder in "${folders[@]}"; do
		[ -e "$folder/$2" ] || continue
		path=$folder/$2
		[[ $path != *..* ]] ||
			path=$(realpath -m --relative-to . "$path")
		echo "$path"
		return
	done
}

# Engines are the files that define one; what is named after an engine is
# its own, all else in the folder is shared.
engine_of()
{
	local stem engine
	stem=$(basename "${1%.[ch]}")

	while read -r engine; do
		if [[ $stem = "$engine" || $stem = "${engine}"_* ]]; then
			echo "$engine"
			return
		fi
	done <"$engines"
}

list_engine_files()
{
	sed -n -E "s#^kmod/engine/([a-z0-9_]+)\.c:[0-9]+:$(
		)(const )?struct wort_engine wort_engine_.*=.*#\1#p" "$code"
}

check_own()
{
	local file=$1 line=$2 target=$3 from to owner

	from=$(layer_of "$file")
	to=$(layer_of "$target")
	if [[ " $(allowed_layers "$from") " != *" $to "* ]]; then
		report "$file" "$line" "$from does not include $to ($target)"
	elif [ "$from/$to" = engine/engine ]; then
		owner=$(engine_of "$target")
		[ -z "$owner" ] || [ "$owner" = "$(engine_of "$file")" ] ||
			report "$file" "$line" "engines do not include each other"
	fi
}

# Headers of the system: the portable layers have those with a shim, the
# shared headers those which every program has.
check_foreign()
{
	local file=$1 line=$2 name=$3 form=$4

	if [ "$form" = '"' ]; then
		report "$file" "$line" "there is no such file: $name"
	elif [[ $file =~ ^$portable && ! -e selftests/shim/$name ]]; then
		report "$file" "$line" "no portable header: <$name>"
	elif [[ $file = uapi/* && ! $name =~ ^linux/(types|ioctl|const)\.h$ ]]; then
		report "$file" "$line" "no header for programs: <$name>"
	fi
}

check_includes()
{
	local file line text form name target

	while IFS=: read -r file line text; do
		[[ $text =~ ^[[:space:]]*#[[:space:]]*include[[:space:]]*([\"<])([^\">]+) ]] ||
			continue
		form=${BASH_REMATCH[1]} name=${BASH_REMATCH[2]}
		target=$(resolve "$file" "$name" "$form")
		if [ -n "$target" ]; then
			check_own "$file" "$line" "$target"
		else
			check_foreign "$file" "$line" "$name" "$form"
		fi
	done < <(grep -E '^(kmod|uapi|userlib/(lib|include))/.*#[[:space:]]*include' "$code")
}

# check ROOT: prints what is wrong there.
check()
{
	local code=$work/code engines=$work/engines

	cd "$1"
	list_code >"$code"
	list_engine_files >"$engines"
	check_words
	check_includes
}

# Headers for the planted lines to find, and two engines.
plant_targets()
{
	local file

	for file in uapi/linux/planted_uapi.h kmod/include/linux/planted_kapi.h \
		kmod/include/trace/events/planted_trace.h \
		kmod/{core,pool,dev}/planted.h kmod/engine/{engine,twin}.h \
		selftests/shim/linux/planted_shim.h; do
		mkdir -p "${file%/*}"
		: >>"$file"
	done
	echo 'const struct wort_engine wort_engine_twin = {' \
		>kmod/engine/twin.c
}

lint_main layers "$@"
