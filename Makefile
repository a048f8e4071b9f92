# SPDX-License-Identifier: GPL-2.0-only
# Targets for people.  Kbuild has the objects of the modules.
#
#	make modules			for the kernel that runs, or KDIR=headers
#	make check			all tests
#	make demo			the main job, on a virtual machine

VERSION := 0.1
KDIR ?= /lib/modules/$(shell uname -r)/build
BUILD := $(CURDIR)/build
PREFIX ?= /usr/local

SCRIPTS := selftests/scripts
CHECK := $(SCRIPTS)/check.sh

help:
	@echo "For a machine with persistent memory:"
	@echo "  modules           build wort.ko for the kernel that runs (KDIR=...)"
	@echo "  modules_install   install it"
	@echo "  lib               build libwort and the wort command"
	@echo "  install           install them (PREFIX=$(PREFIX), DESTDIR=)"
	@echo "  docs              build the documentation (HTML, manual pages)"
	@echo "On any machine, in virtual machines where a kernel is needed:"
	@echo "  demo              load real data, kill the machine, look again"
	@echo "  check             all tests; also by rung:"
	@echo "  check-static      layers, checkpatch, kernel-doc, builds, sparse"
	@echo "  check-unit        the portable layers, and the allocator's model"
	@echo "  explore           every crash state of short sequences"
	@echo "  check-mutants     deliberate bugs that the explorer has to find"
	@echo "  check-vm          the module on Debian's kernels"
	@echo "  check-breakages   break the project in five ways: each rung goes red"
	@echo "  vm-shell          a shell in a virtual machine with the module"
	@echo "  bench             inserts and lookups, natively, against the floor"
	@echo "KERNEL= and KDIR= name a kernel image and its headers for the virtual"
	@echo "machines; without them Debian's are downloaded, not installed."

modules:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules

modules_install:
	$(MAKE) -C $(KDIR) M=$(CURDIR) modules_install

lib:
	$(SCRIPTS)/deps.sh build
	$(MAKE) -C userlib O=$(BUILD)/userlib

install: lib
	$(MAKE) -C userlib O=$(BUILD)/userlib PREFIX=$(PREFIX) install

check:
	$(CHECK) static unit explore mutants vm

check-static check-unit check-mutants check-vm: check-%:
	$(CHECK) $*

explore:
	$(CHECK) explore

check-breakages:
	selftests/breakages/run.py

demo:
	selftests/demo/demo.sh

vm-shell:
	selftests/vm/shell.sh

bench:
	$(SCRIPTS)/deps.sh build
	$(MAKE) -s -C selftests/bench O=$(BUILD)/bench
	$(BUILD)/bench/bench

docs:
	$(SCRIPTS)/deps.sh docs
	sphinx-build -q -W -b html Documentation $(BUILD)/docs
	sphinx-build -q -W -b man Documentation $(BUILD)/man

clean:
	rm -rf $(BUILD)
	find kmod \( -name '*.o' -o -name '*.ko' -o -name '*.mod*' -o \
		-name '.*.cmd' \) -delete
	rm -f *.o .*.cmd Module.symvers modules.order

.PHONY: help modules modules_install lib install check check-static \
	check-unit check-mutants check-vm check-breakages explore demo \
	vm-shell bench docs clean
