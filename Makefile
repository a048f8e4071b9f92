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
# What installs missing packages; who builds a package has them.
DEPS ?= $(SCRIPTS)/deps.sh
# make itself takes a path for several words.
ifneq ($(words $(CURDIR)),1)
$(error nothing can be built in a folder with a space in its path, neither by \
make nor by the kernel: move "$(CURDIR)")
endif

# A kernel that clang built takes modules that clang built.
clang = $(shell grep -sqx CONFIG_CC_IS_CLANG=y $(KDIR)/include/config/auto.conf && \
	echo LLVM=1)
# The modules of a second kernel would take the place of the first's, half way.
alone = flock -n -E 99 kmod $(1) || { status=$$?; [ $$status -ne 99 ] || \
	echo "modules are being built in this folder, maybe for another kernel:" \
		"wait for that, or build in another copy" >&2; exit $$status; }

MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/wort
PYTHON ?= python3
INSTALL ?= install
# Recipes change folders.
ifneq ($(DESTDIR),)
override DESTDIR := $(abspath $(DESTDIR))
endif
ifneq ($(words x$(DESTDIR)x$(PREFIX)x$(MANDIR)x$(DOCDIR)x),1)
$(error nothing can be installed in a folder with a space in its path: change \
DESTDIR, PREFIX, MANDIR or DOCDIR)
endif

help:
	@echo "For a machine with persistent memory:"
	@echo "  modules           build wort.ko for the kernel that runs (KDIR=...)"
	@echo "  modules_install   install it"
	@echo "  lib               build libwort and the wort command"
	@echo "  install           install them, manual pages, completion, units for"
	@echo "                    systemd and udev (PREFIX=$(PREFIX), DESTDIR=)"
	@echo "  install-dkms      install the module's source for DKMS (DESTDIR=)"
	@echo "  install-docs      install the documentation (DOCDIR=, DESTDIR=)"
	@echo "  uninstall         remove what these and modules_install have installed;"
	@echo "                    folders are given as for install"
	@echo "  python            build the package for Python, in its folder (PYTHON=)"
	@echo "  fio               build an engine for fio (FIO_SRC=)"
	@echo "  deb               build Debian packages of all of it"
	@echo "  tree              put wort into the source of a kernel (KERNEL= its folder)"
	@echo "  docs              build the documentation (HTML, manual pages)"
	@echo "On any machine, in virtual machines where a kernel is needed:"
	@echo "  demo              load real data, kill the machine, look again"
	@echo "  check             all tests; also by rung:"
	@echo "  check-static      layers, checkpatch, kernel-doc, builds, sparse"
	@echo "  check-unit        the portable layers, and the allocator's model"
	@echo "  fuzz              images changed at random (SECONDS= SEED= MUTATIONS= FINDINGS=)"
	@echo "  explore           every crash state of short sequences"
	@echo "  explore-long      and with more steps, crashes and turns, some hours"
	@echo "  soak              random cases of all suites (HOURS=1 ENGINE= JOBS=)"
	@echo "  check-mutants     deliberate bugs that the explorer has to find"
	@echo "  check-vm          the module on Debian's kernels"
	@echo "  check-debug       the module on kernels with debugging, built once"
	@echo "  check-kills       kill loaded machines (ROUNDS=200 FLAVOUR=)"
	@echo "  check-removal     take the memory away under load (ROUNDS=1000 FLAVOUR= KEYS=)"
	@echo "  check-breakages   break the project in named ways: each rung goes red"
	@echo "  check-tutorial    type what the tutorial says, in a virtual machine"
	@echo "  check-powercuts   lose the power in the kernel, SEEDS=20 ways each time"
	@echo "  check-powercut-mutants  ... in modules that forget a flush or a fence"
	@echo "  vm-shell          a shell in a virtual machine with the module (IMAGE= FILES=)"
	@echo "  bench             inserts, lookups, attach, natively, against the floor"
	@echo "  bench-kernel      ways into the module, in instructions (FLAVOUR= KEYS=)"
	@echo "  plots             the same beside other indexes, drawn (PEERS= plug-ins)"
	@echo "  figures           what a paper has measured, and the same here (FIG= OUT=)"
	@echo "KERNEL= and KDIR= name a kernel image and its headers for the virtual"
	@echo "machines; without them Debian's are downloaded, not installed."

modules modules_install:
	$(call alone,$(MAKE) -C $(KDIR) M=$(CURDIR) $(clang) $@)

lib:
	$(DEPS) lib
	$(MAKE) -C userlib O=$(BUILD)/userlib

# With libwort inside; a package of a distribution is built otherwise.
python:
	$(DEPS) lib python
	cd userlib/python && PYTHONDONTWRITEBYTECODE= $(PYTHON) -W ignore setup.py -q \
		build_ext --inplace --build-temp $(BUILD)/python
	@PYTHONPATH=userlib/python $(PYTHON) -c 'import wort; \
		print("libwort", wort.version(), "for", "$(PYTHON)")'
	@echo "next: export PYTHONPATH=$(CURDIR)/userlib/python"

install: lib man
	$(MAKE) -C userlib O=$(BUILD)/userlib PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) install
	for page in $(BUILD)/man/*.[1-9]; do \
		$(INSTALL) -D -m 644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/} || exit; \
	done

# What DKMS builds: all that goes into wort.ko, and nothing else.
dkms_source := $(DESTDIR)/usr/src/wort-$(VERSION)

install-dkms:
	$(if $(DESTDIR),,$(SCRIPTS)/dkms-source.sh replace $(VERSION))
	rm -rf $(dkms_source)
	$(INSTALL) -d $(dkms_source)
	cp -R --parents Kbuild COPYING LICENSES dkms.conf \
		$$(find kmod uapi -name '*.[ch]' ! -name '*.mod.c' -o -name 'K*' -o \
			-path '*/samples/[MR]*' -o -name '*.sh') $(dkms_source)
	chmod -R go=rX $(dkms_source)
	@echo "next: dkms build --force wort/$(VERSION) && dkms install --force wort/$(VERSION)"

# Who installs the same into an empty folder knows what is to go.
uninstall:
	mkdir -p $(BUILD) && all=$$(mktemp -d -p $(BUILD)) && trap "rm -rf $$all" EXIT && \
		$(MAKE) -s DEPS=true DESTDIR=$$all install >/dev/null && \
		cd $$all && find . ! -type d -printf '$(DESTDIR)/%P\0' | xargs -0 rm -f
	rm -rf $(DESTDIR)$(DOCDIR)/html $(DESTDIR)$(DOCDIR)/examples
	$(SCRIPTS)/dkms-source.sh remove $(VERSION) $(DESTDIR)

deb:
	$(DEPS) packaging
	selftests/packaging/deb.sh -o $(BUILD)/deb

# Out of it again: selftests/scripts/tree.sh --remove FOLDER.
tree:
	@$(SCRIPTS)/tree.sh "$(KERNEL)"

check:
	$(CHECK) static unit explore_part mutants vm debug_if_built

check-static check-unit check-mutants check-vm check-debug check-kills \
check-removal: check-%:
	$(CHECK) $*

# Until so many seconds have passed, or so many words of images were changed.
fuzz:
	$(DEPS) build
	$(MAKE) -s -C selftests/fuzz O=$(BUILD)/fuzz
	$(BUILD)/fuzz/fuzz -j $$(nproc) $(if $(SEED),-s $(SEED)) \
		$(if $(SECONDS),-t $(SECONDS)) $(if $(MUTATIONS),-m $(MUTATIONS)) \
		$(if $(FINDINGS),-k $(FINDINGS))

explore:
	$(CHECK) explore

# Hours: longer sequences and all kinds of second crashes, then more preemptions.
explore-long:
	$(SCRIPTS)/deps.sh build
	$(MAKE) -s -C selftests/crash O=$(BUILD)/crash
	$(BUILD)/crash/explore --len 4 --deep
	$(BUILD)/crash/explore --len 1 --preemptions 2
	$(BUILD)/crash/explore --random 2000000
	$(BUILD)/crash/explore --random 500000 --mandatory

soak:
	$(SCRIPTS)/soak.sh $(if $(ENGINE),-e $(ENGINE)) $(if $(JOBS),-j $(JOBS)) $(or $(HOURS),1)

check-breakages:
	selftests/breakages/run.py

check-tutorial:
	selftests/vm/tutorial.py

check-powercuts:
	SEEDS=$(or $(SEEDS),20) $(CHECK) powercuts

check-powercut-mutants:
	$(SCRIPTS)/deps.sh build static vm
	selftests/kselftest/powercut_mutants.py

# ENGINE: of the indexes, see "wort engines".
demo:
	selftests/demo/demo.sh $(ENGINE)

vm-shell:
	selftests/vm/shell.sh $(if $(FLAVOUR),-k $(FLAVOUR)) $(if $(IMAGE),-i $(IMAGE)) \
		$(FILES:%=-f %)

bench:
	$(DEPS) build bench
	$(MAKE) -s -C selftests/bench O=$(BUILD)/bench all peers
	$(BUILD)/bench/bench
	$(BUILD)/bench/bench -P floor-eadr,wort-eadr,wort -b 20000
	$(BUILD)/bench/threads
	$(BUILD)/bench/attach

# FIO_SRC: the configured source of the fio that is installed.
fio:
	$(DEPS) build vm
	$(MAKE) -C userlib/fio O=$(BUILD)/userlib FIO_SRC=$(FIO_SRC)

bench-kernel:
	selftests/bench/guest.sh

# It says how long it takes; PEERS are further plug-ins.
plots:
	$(DEPS) build bench plots
	$(MAKE) -s -C selftests/bench O=$(BUILD)/bench all peers
	selftests/bench/plots.py --build $(BUILD)/bench --out $(BUILD)/plots \
		$(PEERS:%=-p %)

# FIG names a paper, OUT where page and pictures go.
figures:
	$(if $(FIG),,$(error FIG= names one of: $(sort \
		$(patsubst selftests/figures/%/paper.toml,%,$(wildcard selftests/figures/*/paper.toml)))))
	$(DEPS) build bench plots
	$(MAKE) -s -C selftests/bench O=$(BUILD)/bench $(BUILD)/bench/bench
	selftests/figures/figures.py selftests/figures/$(FIG) --build $(BUILD)/bench \
		--data $(BUILD)/figures/data --out $(or $(OUT),$(BUILD)/figures)

docs: html man

html man:
	$(DEPS) docs
	sphinx-build -q -W -b $@ -d $(BUILD)/doctrees Documentation \
		$(BUILD)/$(subst html,docs,$@)

install-docs: html
	$(INSTALL) -d $(DESTDIR)$(DOCDIR)/html $(DESTDIR)$(DOCDIR)/examples
	cp -R $(BUILD)/docs/. $(DESTDIR)$(DOCDIR)/html
	cp -R Documentation/examples/. $(DESTDIR)$(DOCDIR)/examples
	chmod -R go=rX $(DESTDIR)$(DOCDIR)

clean:
	rm -rf $(BUILD) userlib/python/build userlib/python/*.egg-info
	rm -f userlib/python/wort/*.so
	find kmod \( -name '*.o' -o -name '*.ko' -o -name '*.mod*' -o \
		-name '.*.cmd' -o -name '.*.d' -o -name 'modules.order' \) -delete
	rm -f *.o .*.o .*.cmd .*.d Module.symvers modules.order

.PHONY: help modules modules_install lib python install install-dkms install-docs uninstall \
	deb tree html man check check-static check-unit check-mutants check-vm \
	check-debug check-kills check-removal check-breakages explore-long check-powercuts \
	check-powercut-mutants check-tutorial explore fuzz soak demo vm-shell bench fio \
	bench-kernel plots figures docs clean
