# SPDX-License-Identifier: GPL-2.0-or-later
#
# zfolio: one Makefile for the whole tree. The kernel builds are scripts under
# kernel-patches/ (see its README.md); the C programs are built here, found by
# wildcard, so that a new file needs no new rule:
#
#   daemon/lib/*.c    -> build/libzfolio.a        static library of include/zfolio/
#   daemon/zfoliod/*.c -> build/zfoliod           the daemon
#   daemon/zfolioctl/*.c -> build/zfolioctl       the tool that asks it
#   daemon/tests/*.c  -> build/tests/NAME         host unit tests (cmocka)
#   daemon/tests/guest/*.c -> build/guest/NAME    programs for the daemon's guests, static
#   bench/*.c         -> build/bench/NAME         guest programs, static
#   bench/host/*.c    -> build/bench/host/NAME    host programs (jansson)
#   bench/plugin/*.c  -> build/bench/plugin/NAME.so    plugins for QEMU
#   selftests/*.c     -> build/selftests/NAME     guest tests (TAP), static
#   selftests/lib/*.c                             linked into each of those
#   test_zswap.c of the kernel's cgroup selftests
#                     -> build/upstream/{base,patched}/test_zswap

BASE ?= linux-7.3
export BASE
# Chosen on make's command line or in the environment; read by the scripts.
export KSRC SERIES KCONFIG

B := build

# Where `make install` puts things; DESTDIR stands before all of it.
PREFIX ?= /usr/local
DOCDIR = $(PREFIX)/share/doc/zfolio
MANDIR = $(PREFIX)/share/man
UNITDIR = $(PREFIX)/lib/systemd/system
BASHDIR = $(PREFIX)/share/bash-completion/completions
ZSHDIR = $(PREFIX)/share/zsh/site-functions

# Units with the places of the programs in them, and what others take over.
UNITS_IN := zfoliod.service zfolio-metrics.service
EXAMPLES := daemon/grafana/zfolio.json daemon/prometheus/zfolio.rules.yaml \
	daemon/kubernetes/daemonset.yaml daemon/kubernetes/Containerfile

# make would otherwise keep a half-written target after an error.
.DELETE_ON_ERROR:
.SUFFIXES:
.DEFAULT_GOAL := help

# --- What a person calls -----------------------------------------------------

.PHONY: help
help: ## print this list
	@echo 'zfolio: large-folio swap-in for zswap'
	@echo
	@sed -n 's/^\([a-z-]*\):.*## /  make \1|/p' Makefile | \
		awk -F'|' '{ printf "%-24s %s\n", $$1, $$2 }'
	@echo
	@echo 'Variables: BASE=linux-7.3 (directory under kernel-patches/), KSRC=DIR|TARBALL'
	@echo '(kernel source instead of the Debian package), SERIES=all|fixes|next, KCONFIG=FILE'
	@echo '(for kernel-deb), PREFIX=DIR, DESTDIR=DIR (for install), ZFOLIO_JOBS=N,'
	@echo 'ZFOLIO_CACHE=DIR (default ~/.cache/zfolio).'

.PHONY: deps
deps: ## install what is missing through apt (root, or sudo without a password)
	@kernel-patches/deps

.PHONY: kernel
kernel: deps ## build the guest kernel with the series applied
	@kernel-patches/build patched

.PHONY: kernel-base
kernel-base: deps ## build the guest kernel without the series
	@kernel-patches/build base

.PHONY: kernel-debug
kernel-debug: deps ## build it with the series and the kernel's own checkers (lockdep, KASAN)
	@kernel-patches/build debug

.PHONY: kernel-check
kernel-check: deps ## check every patch alone and the series in several configurations
	@kernel-patches/check

.PHONY: kernel-deb
kernel-deb: ## make installable packages from KCONFIG=FILE (default: the running kernel's)
	@kernel-patches/deps deb
	@kernel-patches/deb

.PHONY: demo
demo: deps ## build both kernels, boot both, print the before/after table
	@$(MAKE) --no-print-directory bench
	@bench/demo

.PHONY: test
test: ## host unit tests, harness tests, guest tests on both kernels
	@kernel-patches/deps all test
	@$(MAKE) --no-print-directory programs
	@selftests/run

.PHONY: test-long
test-long: ## the same, and what takes long in full length
	@ZFOLIO_TEST_LONG=1 $(MAKE) --no-print-directory test

.PHONY: install
install: daemon ## install the daemon, its tool and its units: PREFIX=/usr/local, DESTDIR=
	install -D -m 755 $(B)/zfoliod $(DESTDIR)$(PREFIX)/sbin/zfoliod
	install -D -m 755 $(B)/zfolioctl $(DESTDIR)$(PREFIX)/bin/zfolioctl
	install -D -m 644 daemon/zfolioctl/completion.bash $(DESTDIR)$(BASHDIR)/zfolioctl
	install -D -m 644 daemon/zfolioctl/completion.zsh $(DESTDIR)$(ZSHDIR)/_zfolioctl
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man1 daemon/man/zfolioctl.1
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man5 daemon/man/zfolio.conf.5
	install -D -m 644 -t $(DESTDIR)$(MANDIR)/man8 daemon/man/zfoliod.8
	install -D -m 644 -t $(DESTDIR)$(DOCDIR) daemon/README.md \
		daemon/troubleshooting.md daemon/systemd/zfolio.conf
	install -D -m 644 -t $(DESTDIR)$(DOCDIR)/examples $(EXAMPLES)
	install -D -m 644 -t $(DESTDIR)$(UNITDIR) daemon/systemd/zfolio-metrics.timer
	for unit in $(UNITS_IN); do \
		sed -e 's|@SBINDIR@|$(PREFIX)/sbin|' -e 's|@BINDIR@|$(PREFIX)/bin|' \
			daemon/systemd/$$unit.in >$(DESTDIR)$(UNITDIR)/$$unit && \
		chmod 644 $(DESTDIR)$(UNITDIR)/$$unit || exit; \
	done

.PHONY: uninstall
uninstall: ## remove what install has installed
	rm -f $(DESTDIR)$(PREFIX)/sbin/zfoliod $(DESTDIR)$(PREFIX)/bin/zfolioctl \
		$(DESTDIR)$(BASHDIR)/zfolioctl $(DESTDIR)$(ZSHDIR)/_zfolioctl \
		$(DESTDIR)$(MANDIR)/man1/zfolioctl.1 \
		$(DESTDIR)$(MANDIR)/man5/zfolio.conf.5 \
		$(DESTDIR)$(MANDIR)/man8/zfoliod.8 \
		$(addprefix $(DESTDIR)$(UNITDIR)/,zfolio-metrics.timer $(UNITS_IN))
	rm -rf $(DESTDIR)$(DOCDIR)

# The packages' source: what they are built from, with debian/ at its top.
DEB_VERSION = $(shell sed -n '1s/.*(\(.*\)).*/\1/p' daemon/debian/changelog)
DEB_SOURCE = $(B)/deb/zfolio-$(DEB_VERSION)

.PHONY: deb
deb: ## make Debian packages of the daemon and its tool, in build/deb
	@kernel-patches/deps package
	rm -rf $(B)/deb
	mkdir -p $(DEB_SOURCE)
	cp -R Makefile LICENSE include daemon $(DEB_SOURCE)
	mv $(DEB_SOURCE)/daemon/debian $(DEB_SOURCE)
	rm -r $(DEB_SOURCE)/daemon/tests
	@# The same source whatever the umask was.
	chmod -R u=rwX,go=rX $(DEB_SOURCE)
	@# This make's variables and jobs are not the package's.
	cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS dpkg-buildpackage -us -uc
	lintian --allow-root --info --fail-on error,warning $(B)/deb/*.changes
	@ls $(B)/deb/*.deb

.PHONY: clean
clean: ## remove build/ (kernels and downloads stay in the cache)
	rm -rf $(B)

# --- C programs --------------------------------------------------------------

CC ?= cc
AR ?= ar
# Whether a variable is seen to be set depends on the compiler's version and
# optimiser: a warning, but no reason for a build to fail on the next release.
WARN := -Wall -Wextra -Werror -Wno-error=maybe-uninitialized
CPPFLAGS_ALL := -Iinclude -D_GNU_SOURCE= -MMD -MP
# With what a packager has in the environment, in what is installed.
CFLAGS_ALL := -std=gnu11 -O2 -g $(WARN) $(CPPFLAGS) $(CFLAGS)

# The host's unit tests run under both sanitizers: a test that passes by luck
# of the heap's layout is no test.
CFLAGS_TEST := -std=gnu11 -O1 -g $(WARN) -fno-omit-frame-pointer \
	-fsanitize=address,undefined -fno-sanitize-recover=undefined

# The guest tests write memory only so that the kernel swaps it. With the
# compiler knowing malloc() and free(), it may drop stores to a block that is
# freed without being read (upstream's allocate_bytes() loses its stores so, at
# -O2, and test_zswap_usage fails). -fno-builtin takes that knowledge away: each
# store to memory that a function returned is then observable and stays. -O1
# keeps the byte-by-byte checks bearable under emulation. A load whose result
# nobody uses must still go through a volatile pointer.
CFLAGS_GUEST := -std=gnu11 -O1 -fno-builtin -g $(WARN)

# libinih reads the configuration, jansson traces and the state file, libsystemd
# has the event loop, the journal and D-Bus.
DAEMON_LIBS := -Wl,--as-needed -linih -ljansson -lsystemd

# zfolioctl advise compresses pages as the kernel does.
CTL_LIBS := $(DAEMON_LIBS) -llz4 -lzstd -lpthread

LIB_SRC := $(wildcard daemon/lib/*.c)
DAEMON_SRC := $(wildcard daemon/zfoliod/*.c)
CTL_SRC := $(wildcard daemon/zfolioctl/*.c)
TEST_SRC := $(wildcard daemon/tests/*.c)
DAEMON_GUEST_SRC := $(wildcard daemon/tests/guest/*.c)
BENCH_SRC := $(wildcard bench/*.c)
BENCH_HOST_SRC := $(wildcard bench/host/*.c)
BENCH_PLUGIN_SRC := $(wildcard bench/plugin/*.c)
GUEST_SRC := $(wildcard selftests/*.c)
GUEST_LIB_SRC := $(wildcard selftests/lib/*.c)

LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o)
LIB_TEST_OBJ := $(LIB_SRC:%.c=$(B)/obj-test/%.o)
DAEMON_OBJ := $(DAEMON_SRC:%.c=$(B)/obj/%.o)
CTL_OBJ := $(CTL_SRC:%.c=$(B)/obj/%.o)
CTL_TEST_OBJ := $(CTL_SRC:%.c=$(B)/obj-test/%.o)
DAEMON_TEST_OBJ := $(DAEMON_SRC:%.c=$(B)/obj-test/%.o)
GUEST_LIB_OBJ := $(GUEST_LIB_SRC:%.c=$(B)/obj/%.o)

TESTS := $(TEST_SRC:daemon/tests/%.c=$(B)/tests/%)
DAEMON_GUEST := $(DAEMON_GUEST_SRC:daemon/tests/guest/%.c=$(B)/guest/%)
BENCH := $(BENCH_SRC:bench/%.c=$(B)/bench/%)
BENCH_HOST := $(BENCH_HOST_SRC:bench/host/%.c=$(B)/bench/host/%)
BENCH_PLUGIN := $(BENCH_PLUGIN_SRC:bench/plugin/%.c=$(B)/bench/plugin/%.so)
GUEST := $(GUEST_SRC:selftests/%.c=$(B)/selftests/%)
UPSTREAM := $(B)/upstream/base/test_zswap $(B)/upstream/patched/test_zswap

# daemon/tests/flags.mk may set LDFLAGS_NAME, e.g. -Wl,--wrap=openat for NAME.c.
-include daemon/tests/flags.mk

.PHONY: programs daemon tests bench guest upstream
programs: daemon tests bench guest upstream
daemon: $(B)/zfoliod $(B)/zfolioctl
tests: $(TESTS) $(DAEMON_GUEST)
bench: $(BENCH) $(BENCH_HOST) $(BENCH_PLUGIN)
guest: $(GUEST)
upstream: $(UPSTREAM)

$(B)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -c -o $@ $<

$(B)/obj-test/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_TEST) -c -o $@ $<

# Made anew each time: `ar r` alone would keep members whose source is gone.
$(B)/libzfolio.a: $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

# An archive, so that a test takes only the modules that it is about.
$(B)/obj-test/modules.a: $(LIB_TEST_OBJ) $(filter-out %/main.o,$(DAEMON_TEST_OBJ) $(CTL_TEST_OBJ))
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/tests/%: $(B)/obj-test/daemon/tests/%.o $(B)/obj-test/modules.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_TEST) -o $@ $^ $(LDFLAGS_$*) -lcmocka $(CTL_LIBS) -lm

$(B)/guest/%: $(B)/obj/daemon/tests/guest/%.o $(B)/libzfolio.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -static -o $@ $^

$(B)/zfoliod: $(DAEMON_OBJ) $(B)/libzfolio.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(DAEMON_LIBS) -lpthread

# All of the daemon but its main(): without one that runs, the tool samples itself.
$(B)/obj/modules.a: $(filter-out %/main.o,$(DAEMON_OBJ)) $(LIB_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(B)/zfolioctl: $(CTL_OBJ) $(B)/obj/modules.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) $(LDFLAGS) -o $@ $^ $(CTL_LIBS)

$(B)/bench/host/%: $(B)/obj/bench/host/%.o $(B)/libzfolio.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -o $@ $^ -ljansson -lm

# QEMU has the functions that a plugin calls.
$(B)/bench/plugin/%.so: bench/plugin/%.c
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -fPIC -fvisibility=hidden -shared -o $@ $<

$(B)/bench/%: $(B)/obj/bench/%.o $(B)/libzfolio.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_ALL) -static -o $@ $^ -lpthread -lm

# kselftest.h and the user-space headers come from the kernel source, whose
# place depends on BASE and KSRC: the file is rewritten only when that changes.
$(B)/kernel-paths: FORCE
	@mkdir -p $(@D)
	@src=$$(kernel-patches/fetch) && hdr=$$(kernel-patches/build --headers) && \
	printf '%s\n' "-isystem $$src/tools/testing/selftests -isystem $$hdr" >$@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(B)/obj/selftests/%.o: selftests/%.c $(B)/kernel-paths
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $$(cat $(B)/kernel-paths) $(CFLAGS_GUEST) -c -o $@ $<

$(B)/selftests/%: $(B)/obj/selftests/%.o $(GUEST_LIB_OBJ) $(B)/libzfolio.a
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_GUEST) -static -o $@ $^ -lpthread

# Upstream's test as upstream compiles it (no optimisation), from the base and
# from the patched source; made anew each time, since it is one short command
# and the scripts alone know whether the source has changed. Older kernels keep
# cgroup_util.c beside the test.
$(B)/upstream/%/test_zswap: FORCE $(B)/kernel-paths
	@mkdir -p $(@D)
	@src=$$(kernel-patches/build --source $*) && \
	t=$$src/tools/testing/selftests && \
	$(CC) -static -O0 -g -Wall -pthread -D_GNU_SOURCE= -I$$t/cgroup/lib/include \
		-I$$t $$(cat $(B)/kernel-paths) -o $@ \
		$$t/cgroup/test_zswap.c $$(find $$t/cgroup -name cgroup_util.c)

# --- Fuzzing -------------------------------------------------------------------

# libFuzzer comes with clang, which nothing else here needs. What it finds worth
# keeping goes to build/fuzz/NAME, beside the seeds in daemon/tests/fuzz/NAME/.
FUZZ_CC ?= clang
FUZZ_SECONDS ?= 60
FUZZ := $(patsubst daemon/tests/fuzz/fuzz_%.c,%,$(wildcard daemon/tests/fuzz/*.c))
FUZZED_SRC := $(LIB_SRC) $(filter-out %/main.c,$(DAEMON_SRC))

.PHONY: fuzz
fuzz: $(FUZZ:%=$(B)/fuzz/fuzz_%) ## fuzz what the daemon reads, FUZZ_SECONDS=60 each (needs clang)
	@set -e; for name in $(FUZZ); do \
		mkdir -p $(B)/fuzz/$$name; \
		$(B)/fuzz/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -timeout=10 \
			-artifact_prefix=$(B)/fuzz/$$name- \
			$(B)/fuzz/$$name daemon/tests/fuzz/$$name; \
	done

$(B)/fuzz/fuzz_%: daemon/tests/fuzz/fuzz_%.c $(FUZZED_SRC) $(wildcard daemon/zfoliod/*.h include/zfolio/*.h)
	@mkdir -p $(@D)
	$(FUZZ_CC) -Iinclude -D_GNU_SOURCE= -std=gnu11 -O1 -g -w \
		-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o $@ $< $(FUZZED_SRC) $(DAEMON_LIBS) -lpthread -lm

.PHONY: FORCE
FORCE:

# Kept, so that a second make has nothing to compile again.
.SECONDARY:

-include $(shell find $(B)/obj $(B)/obj-test -name '*.d' 2>/dev/null)
