#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# post-build.sh FOLDER: what other kernel code is built against, of the module
# that was built here: the versions of its symbols, and headers.  DKMS runs it,
# with the folder in which it keeps the module for one kernel.

set -e
cd "$(dirname "$0")/.."
mkdir -p "$1/include/linux"
cp Module.symvers "$1"
cp kmod/include/linux/*.h uapi/linux/*.h "$1/include/linux"
