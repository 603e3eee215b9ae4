# Makefile - builds dftracerd out of tree. GNU make; no automake.
#
#   make                    everything into build/ (configures by itself)
#   make run DIR=traces     installs what is missing, builds, starts the daemon
#   make check              every test; the last line is "N passed, N failed"
#   make BUILD=build/asan CONFIG='--enable-sanitizer=address,undefined'
#                           another configuration beside the first, in the same tree
#   make help               all targets
#
# Where a file goes:
#   src/<module>/             -> $(BUILD)/lib<module>.a, for every module below, folders of it included
#   src/daemon/*.c            -> $(BUILD)/bin/dftracerd
#   src/tools/<name>.c        -> $(BUILD)/bin/<name>   '_' becomes '-', except in dftracer_* (old names)
#   src/tools/<name>/*.c      -> the same, for a tool of several files
#   src/tools/tool_*.c        -> $(BUILD)/libtools.a, shared by all tools
#   *_mpi.c, *_mpi/ in tools  -> built with mpicc, left out when there is none; so is src/cluster
#   src/client/parts/*        -> $(BUILD)/bin/dftracerctl, one script
#   tests/unit/<module>/      -> $(BUILD)/tests/unit_<module>, one program a module
#   tests/answers/*.c         -> $(BUILD)/tests/answers, which runs tests/answers/*.case
#   tests/cluster/*.c         -> $(BUILD)/tests/cluster_exchange, which fault/test_cluster starts with mpirun
#   failpoint.h               -> $(BUILD)/fail/bin, two programs for tests/fault
#   tests/fuzz/fuzz_x.c       -> $(BUILD)/fuzz/fuzz_x, replays tests/fuzz/corpus/x/
# The first line of a unit test or fuzz target names its module: /* module: trace */. It is linked
# with that module and those below it only, so a wrong arrow does not link.

BUILD  ?= build
CONFIG ?= $(if $(CI),--enable-werror CFLAGS="-O2 -g1")
# Relative where it can be, however it was named: the targets in *.d must be those of the next make.
B      := $(patsubst $(CURDIR)/%,%,$(abspath $(BUILD)))
ifeq ($(abspath $B),$(CURDIR))
$(error BUILD must be a folder of its own)
endif
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

.DEFAULT_GOAL := all
.SUFFIXES:
.SECONDEXPANSION:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

# ---- configuration ---------------------------------------------------------------------------------

# These goals do not need a compiler or a library to be there.
FREE_GOALS := deps deps-run deps-bench deps-release page run check check-all check-fresh oracle fuzz format clean distclean dist deb deb-build release help
ifneq ($(filter-out $(FREE_GOALS),$(or $(MAKECMDGOALS),all)),)
include $(B)/config.mk
endif

configure: configure.ac
	autoconf -o configure.$$$$ configure.ac && mv -f configure.$$$$ configure && touch configure

# A new CONFIG= configures anew; without CONFIG= the options of last time are kept.
ifneq ($(CONFIG),)
ifneq ($(CONFIG),$(shell cat $(B)/config.args 2>/dev/null))
$(B)/config.mk: FORCE
endif
endif
$(B)/config.mk: configure
	@mkdir -p $(B)
	@cd $(B) && options='$(CONFIG)' && \
	    if [ -z "$$options" ] && [ -f config.status ]; then \
	        options=$$(/bin/sh ./config.status --config); fi && \
	    echo "configure $$options  (in $(BUILD))" && \
	    { eval "$(CURDIR)/configure --quiet $$options" || { rm -f config.mk; exit 1; }; } && \
	    printf '%s\n' '$(CONFIG)' >config.args && touch config.mk

PACKAGE_TARNAME := dftracerd
VERSION := $(shell sed -n 's/^AC_INIT(\[dftracerd\], \[\(.*\)\])/\1/p' configure.ac)

# ---- flags -----------------------------------------------------------------------------------------

# -fno-strict-aliasing: columns, LMDB pages and SIMD registers are read through several types; no
# sanitizer finds a mistake there, and the gain of strict aliasing was not measurable.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
            -Wno-missing-field-initializers
DFT_CPPFLAGS = -D_GNU_SOURCE -Iinclude -Isrc -I$(B) $(LIB_CFLAGS) $(CPPFLAGS)
DFT_CFLAGS = -std=gnu11 $(WARNINGS) -fno-strict-aliasing -pthread $(CFLAGS) $(WERROR_CFLAGS) \
             $(SANITIZE_CFLAGS) $(FUZZ_CFLAGS)
DFT_LDFLAGS = -pthread $(CFLAGS) $(SANITIZE_CFLAGS) $(FUZZ_CFLAGS) $(LDFLAGS) -Wl,--as-needed
DFT_LIBS = $(LIB_LIBS) $(LIBS) -lm

# Files named for an instruction set, and only those; called when cpu_level() says so.
ifeq ($(ARCH_X86),yes)
AVX2_CFLAGS   := -mavx2 -mbmi -mbmi2 -mpopcnt
endif
isa_flags = $(if $(filter %_avx2.c,$1),$(AVX2_CFLAGS))

ifeq ($(V),)
say = @printf '  %-5s %s\n' $1 $2;
endif

# ---- modules ---------------------------------------------------------------------------------------

# Lowest first: a module may use those before it. tools stands beside http.
CHAIN := base dlio trace column index engine answer format rewrite replay http daemon cluster mpi
MODULES := $(CHAIN) tools

sources_of = $(filter-out src/mpi/dftracer%,$(wildcard \
    $(if $(filter tools,$1),src/tools/tool_*.c,src/$1/*.c src/$1/*/*.c)))
objects_of = $(patsubst %.c,$(B)/obj/%.o,$1)
lib_of     = $(if $(call sources_of,$1),$(B)/lib$1.a)

# up_to(module, list): the words of list up to and with module.
up_to      = $(if $2,$(firstword $2) $(if $(filter $1,$(firstword $2)),,$(call up_to,$1,$(wordlist 2,99,$2))))
reverse    = $(if $1,$(call reverse,$(wordlist 2,99,$1)) $(firstword $1))
BELOW_HTTP := $(call up_to,replay,$(CHAIN))
modules_to   = $(if $(filter tools,$1),$(BELOW_HTTP) tools,$(call up_to,$1,$(CHAIN)))
# Libraries of a module and those below it, in link order.
libs_to    = $(foreach m,$(call reverse,$(call modules_to,$1)),$(call lib_of,$m))

SOURCES := $(wildcard src/*/*.c src/*/*/*.c)

# The same bits on every machine: without fused multiply-add, which some processors have.
$(B)/obj/src/dlio/%.o: DFT_CFLAGS += -ffp-contract=off

# Where the daemon looks for its configuration.
$(B)/obj/src/daemon/option_file.o: DFT_CPPFLAGS += -DDFT_SYSCONFDIR='"$(sysconfdir)"'

# The page of web/ is a part of the program. One for all builds; without npm, or a registry at the first time, it is empty.
PAGE := build/web/dist
PAGE_MISSED := $(if $(wildcard $(PAGE)/no-npm),$(if $(shell command -v npm),FORCE))
$(B)/obj/src/http/page/page_text.o: DFT_CPPFLAGS += -DDFT_PAGE='"$(PAGE)"'
$(B)/obj/src/http/page/page_text.o: $(PAGE)/index.html
$(PAGE)/index.html: $(wildcard web/* web/src/* web/src/*/*) $(PAGE_MISSED)
	$(call say,PAGE,$@)web/build build/web || { \
	    echo 'the page is left out: `make page` tries again'; mkdir -p $(PAGE); : >$(PAGE)/policy; : >$@; \
	    command -v npm >/dev/null || : >$(PAGE)/no-npm; }

.PHONY: page
page:
	web/build build/web

# What tests of all modules share.
$(B)/obj/tests/unit/%.o $(B)/obj/tests/answers/%.o: DFT_CPPFLAGS += -Itests/unit

$(B)/obj/%.o: %.c $(B)/config.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) $(DFT_CPPFLAGS) $(DFT_CFLAGS) $(call isa_flags,$<) -MMD -MP -c -o $@ $<

# The list makes an archive anew when a source file was removed or renamed.
$(B)/lib%.list: FORCE
	@mkdir -p $(@D)
	@echo '$(call sources_of,$*)' | cmp -s - $@ || echo '$(call sources_of,$*)' >$@

$(MODULES:%=$(B)/lib%.a): $(B)/lib%.a: $$(call objects_of,$$(call sources_of,$$*)) $(B)/lib%.list
	$(call say,AR,$@)rm -f $@ && $(AR) qcs $@ $(filter %.o,$^)

LIBS_ALL := $(foreach m,$(if $(MPICC),$(MODULES),$(filter-out cluster mpi,$(MODULES))),$(call lib_of,$m))

# ---- programs --------------------------------------------------------------------------------------

DAEMON := $(if $(wildcard src/daemon/*.c),$(B)/bin/dftracerd)

$(B)/bin/dftracerd: $$(call objects_of,$$(call sources_of,daemon)) $$(call libs_to,http)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(DFT_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DFT_LIBS)

# Tools: single files (shared tool_*.c apart) and sub-folders.
TOOL_FILES   := $(filter-out src/tools/tool_%,$(wildcard src/tools/*.c))
TOOL_FOLDERS := $(sort $(patsubst %/,%,$(dir $(wildcard src/tools/*/*.c))))
TOOL_SOURCES := $(basename $(TOOL_FILES)) $(TOOL_FOLDERS)
ifeq ($(MPICC),)
TOOL_SOURCES := $(filter-out %_mpi,$(TOOL_SOURCES))
endif
ifneq ($(YAML),1)
TOOL_SOURCES := $(filter-out %_dlio_compare,$(TOOL_SOURCES))
endif
tool_name    = $(if $(filter dftracer_%,$(notdir $1)),$(notdir $1),$(subst _,-,$(notdir $1)))
tool_parts   = $(wildcard $1.c) $(wildcard $1/*.c)
TOOLS        := $(foreach t,$(TOOL_SOURCES),$(B)/bin/$(call tool_name,$t))

# The compiler of MPI, with that of configure.
MPI_CC := OMPI_CC='$(CC)' MPICH_CC='$(CC)' $(MPICC)

define tool_rules
$(B)/bin/$(call tool_name,$1): $(call objects_of,$(call tool_parts,$1)) $(call libs_to,tools)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)$(if $(filter %_mpi,$1),$(MPI_CC),$$(CC)) \
	    $$(DFT_LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(DFT_LIBS)
endef
$(foreach t,$(TOOL_SOURCES),$(eval $(call tool_rules,$t)))

MPI_OBJECTS := $(call objects_of,$(foreach t,$(filter %_mpi,$(TOOL_SOURCES)),$(call tool_parts,$t)) $(call sources_of,cluster))
$(MPI_OBJECTS): override CC := $(MPI_CC)

# Programs that are started by mpirun or srun.
MPI_PROGRAMS := $(if $(MPICC),$(patsubst src/mpi/%.c,%,$(wildcard src/mpi/dftracer*_mpi.c)))
define mpi_rules
$(B)/bin/$(call tool_name,$1): $(call objects_of,src/mpi/$1.c) $(call libs_to,mpi)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)$(MPI_CC) $$(DFT_LDFLAGS) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) $$(DFT_LIBS)
endef
$(foreach p,$(MPI_PROGRAMS),$(eval $(call mpi_rules,$p)))
MPI_TOOLS := $(foreach p,$(MPI_PROGRAMS),$(B)/bin/$(call tool_name,$p))

# The client answers to the names of the old commands too: links, one name a line of that file.
CLIENT := $(B)/bin/dftracerctl
OLD_NAMES = $(shell cat src/client/names)
CLIENT_PARTS := $(sort $(wildcard src/client/parts/*.sh))
# Its table of options comes from the endpoints, and from the --help of the programs that it runs.
CLIENT_TABLE := $(B)/obj/src/client/options.sh
CLIENT_RUNS := $(DAEMON) $(filter %-replay %-dlio-compare %/gen-fake-trace,$(TOOLS))
$(CLIENT_TABLE): src/client/options src/client/generate $(CLIENT_RUNS)
	@mkdir -p $(@D)
	@ln -sf dftracerd $(B)/bin/dftracer_server
	$(call say,GEN,$@)src/client/generate $(B)/bin >$@.part && mv $@.part $@
$(CLIENT): $(CLIENT_PARTS) $(CLIENT_TABLE) src/client/names Makefile
	@mkdir -p $(@D)
	$(call say,CAT,$@)sed -e '/^@OPTIONS@$$/{' -e 'r $(CLIENT_TABLE)' -e 'd' -e '}' $(CLIENT_PARTS) | \
	    sed 's/@VERSION@/$(VERSION)/g' >$@.part && chmod 755 $@.part && mv $@.part $@
	@cd $(@D) && for f in $(OLD_NAMES); do ln -sf dftracerctl $$f || exit 1; done

.PHONY: all
all: $(LIBS_ALL) $(DAEMON) $(TOOLS) $(MPI_TOOLS) $(CLIENT)
	@:

# ---- tests -----------------------------------------------------------------------------------------

UNIT_SOURCES := $(wildcard tests/unit/*/test_*.c)
FUZZ_SOURCES := $(wildcard tests/fuzz/fuzz_*.c)

# The first line has the module and flags: /* module: http; alone, threads */. Words file:module, and the files with a flag.
TEST_MODULES := $(if $(UNIT_SOURCES)$(FUZZ_SOURCES),$(shell \
    grep -m 1 -H '^/\* module: ' $(UNIT_SOURCES) $(FUZZ_SOURCES) | sed 's,^\([^:]*\):/\* module: \([a-z]*\).*,\1:\2,'))
module_of  = $(or $(patsubst $1:%,%,$(filter $1:%,$(TEST_MODULES))),$(error $1: the first line must be /* module: NAME */))
flagged    = $(if $(UNIT_SOURCES),$(shell grep -lE '^/\* module: [a-z]*;.*\b$1\b' $(UNIT_SOURCES)))

# One program a module, of all its tests, and one of the tests that ThreadSanitizer sees. Tests that replace functions of the
# library or of libc are alone.
UNIT_ALONE := $(call flagged,alone)
UNIT_THREADS := $(call flagged,threads)
unit_in    = $(filter-out $(UNIT_ALONE),$(patsubst %:$1,%,$(filter tests/unit/%:$1,$(TEST_MODULES))))
alone_program = $(patsubst %.c,$(B)/tests/%,$(notdir $1))
UNIT_MODULES := $(foreach m,$(MODULES),$(if $(call unit_in,$m),$m))
UNIT       := $(UNIT_MODULES:%=$(B)/tests/unit_%) $(call alone_program,$(UNIT_ALONE))
THREADED   := $(B)/tests/unit_threads $(call alone_program,$(filter $(UNIT_ALONE),$(UNIT_THREADS)))
FUZZ       := $(FUZZ_SOURCES:tests/fuzz/%.c=$(B)/fuzz/%)
UNIT_MAIN  := $(B)/obj/tests/unit/main.o $(B)/obj/tests/unit/failing_malloc.o

$(UNIT_MODULES:%=$(B)/tests/unit_%): $(B)/tests/unit_%: $$(call objects_of,$$(call unit_in,$$*)) $(UNIT_MAIN) $$(call libs_to,$$*)
$(B)/tests/unit_threads: $(call objects_of,$(filter-out $(UNIT_ALONE),$(UNIT_THREADS))) $(UNIT_MAIN) $$(call libs_to,http)
define alone_rule
$(call alone_program,$1): $(call objects_of,$1) $(UNIT_MAIN) $(call libs_to,$(call module_of,$1))
endef
$(foreach t,$(UNIT_ALONE),$(eval $(call alone_rule,$t)))
$(UNIT) $(B)/tests/unit_threads:
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(DFT_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DFT_LIBS)

# Requests and expected answers: tests/answers/case.h.
ANSWERS := $(B)/tests/answers
$(ANSWERS): $(call objects_of,$(wildcard tests/answers/*.c)) $(B)/obj/tests/unit/failing_malloc.o $(call libs_to,http)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(DFT_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DFT_LIBS)

# Messages between the processes of an MPI job.
EXCHANGE := $(if $(MPICC),$(B)/tests/cluster_exchange)
$(B)/tests/cluster_exchange: $(call objects_of,$(wildcard tests/cluster/*.c)) $(call lib_of,cluster) $(call lib_of,base)
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(MPI_CC) $(DFT_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DFT_LIBS)

ifeq ($(FUZZER),yes)
FUZZ_MAIN :=
else
FUZZ_MAIN := $(B)/obj/tests/fuzz/standalone_main.o
endif
$(FUZZ): $(B)/fuzz/%: $(B)/obj/tests/fuzz/%.o $(FUZZ_MAIN) \
    $$(call libs_to,$$(call module_of,tests/fuzz/$$*.c))
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(DFT_LDFLAGS) $(FUZZ_LDFLAGS) -o $@ $(filter %.o,$^) \
	    $(filter %.a,$^) $(DFT_LIBS)

# Programs in which tests make things fail: sources that name a failpoint once more, before the libraries that hold them as they are.
FAIL_SOURCES := $(shell grep -l 'failpoint\.h' src/*/*.c src/*/*/*.c) tests/fault/failpoint.c
FAIL_OBJECTS := $(FAIL_SOURCES:%.c=$(B)/fail/%.o)
FAIL_PROGRAMS := $(B)/fail/bin/dftracerd $(B)/fail/bin/dftracerd-inspect

$(B)/fail/%.o: %.c $(B)/config.mk
	@mkdir -p $(@D)
	$(call say,CC,$<)$(CC) -DDFT_FAILPOINTS $(DFT_CPPFLAGS) $(DFT_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/fail/bin/dftracerd: $(FAIL_OBJECTS) $$(call objects_of,$$(filter-out $(FAIL_SOURCES),$$(call sources_of,daemon))) \
    $$(call libs_to,http)
$(B)/fail/bin/dftracerd-inspect: $(filter-out $(B)/fail/src/http/% $(B)/fail/src/daemon/%,$(FAIL_OBJECTS)) \
    $$(call objects_of,$$(call tool_parts,src/tools/dftracerd_inspect)) $$(call libs_to,tools)
$(FAIL_PROGRAMS):
	@mkdir -p $(@D)
	$(call say,LINK,$@)$(CC) $(DFT_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(DFT_LIBS)

# What tests/run builds of each variant.
.PHONY: test-unit test-answers test-fuzz test-threads test-fault programs
test-unit: $(UNIT)
test-answers: $(ANSWERS)
test-fuzz: $(FUZZ)
test-threads: $(THREADED)
test-fault: all $(FAIL_PROGRAMS) $(EXCHANGE)
programs: all test-unit test-answers test-fuzz test-threads test-fault

# tests/run knows the suites, their builds and what each test needs; tests/run --help.
.PHONY: check check-all check-fresh oracle
check check-all:
	@[ $@ != check ] || echo 'make check: installs missing packages, builds, runs the tests: ten minutes on two processors'
	@packaging/deps check || exit 1
	@tests/run $(if $(filter check-all,$@),--all) $(SUITES) || { $(QUIET_END); }

# make ends without a line of its own, so that the last one is "N passed, N failed"; its exit status is that of the signal.
QUIET_END = kill -PIPE $$PPID; exit 1

# From nothing: a root directory with Debian alone, a clone of what is committed, make run, make check, make deb. Needs root.
check-fresh:
	@tests/fresh/run

# The answers that tests/golden expects, recomputed by the oracle alone; takes some minutes.
oracle:
	@tests/golden/make_answers

# Every target (ONLY=names: these) for MINUTES in all, a second at least, with libFuzzer. New inputs go to build/fuzz/new/<x>, those worth
# keeping are copied to tests/fuzz/corpus/<x> by hand; a crash is left in build/fuzz/crash/<x>.
MINUTES ?= 10
.PHONY: fuzz fuzz-programs
fuzz:
	@$(MAKE) BUILD=build/fuzz CONFIG='--enable-fuzzer --enable-sanitizer=address,undefined' \
	    MINUTES=$(MINUTES) ONLY='$(ONLY)' fuzz-programs

FUZZED = $(if $(ONLY),$(ONLY:%=$(B)/fuzz/fuzz_%),$(FUZZ))
fuzz-programs: $(FUZZED)
	@seconds=$$(($(MINUTES) * 60 / $(words $(FUZZED)))); [ $$seconds -gt 0 ] || seconds=1; bad=0; \
	for program in $(FUZZED); do \
	    x=$${program##*/fuzz_}; mkdir -p $(B)/new/$$x $(B)/crash/$$x; \
	    corpus=; [ -d tests/fuzz/corpus/$$x ] && corpus=tests/fuzz/corpus/$$x; \
	    echo "fuzz $$x for $$seconds s"; \
	    $$program -max_total_time=$$seconds -artifact_prefix=$(B)/crash/$$x/ -print_final_stats=1 \
	        -timeout=10 $(B)/new/$$x $$corpus || bad=1; \
	done; exit $$bad

# ---- measuring -------------------------------------------------------------------------------------

.PHONY: bench bench-quick soak
bench bench-quick: all
	@if [ -x bench/run ]; then exec bench/run $@; else echo "bench/run is not there"; exit 1; fi

# An hour (MINUTES=) of changing traces and clients of all kinds; then everything indexed anew 100 times,
# 100,000 files, a million rows in Perfetto, ten in Arrow, and 500 kills.
soak bench bench-quick: export DFTRACERD_BUILD := $(abspath $B)
soak: all
	@bad=0; tests/soak/run --minutes $(if $(filter file,$(origin MINUTES)),60,$(MINUTES)) || bad=1; \
	REINDEX_CYCLES=100 tests/fault/test_reindex_size || bad=1; \
	PERFETTO_ROWS=1000000 tests/http/answers/test_perfetto || bad=1; \
	ARROW_ROWS=10000000 tests/http/answers/test_arrow || bad=1; \
	WATCH_FILES=100000 tests/fault/test_watch many_files || bad=1; \
	tests/soak/load || bad=1; \
	KILL9_RUNS=500 tests/fault/test_kill9 || bad=1; exit $$bad

# ---- running ---------------------------------------------------------------------------------------

DIR  ?=
PORT ?= 8080

.PHONY: run
run: export MAKE := $(MAKE)
run: export BUILD := $(BUILD)
run: export JOBS := $(JOBS)
run: export DIR := $(DIR)
run: export PORT := $(PORT)
run:
	@exec packaging/run

# ---- what Debian and its relatives have ------------------------------------------------------------

# packaging/deps has the list.
.PHONY: deps deps-run deps-bench deps-release
deps:
	@packaging/deps check
deps-run deps-bench deps-release: deps-%:
	@packaging/deps $*

# ---- order and cleanliness ---------------------------------------------------------------------------

# make format FILES='src/trace/a.c ...' for some only.
FILES ?= $(wildcard include/dftracerd/*.h src/*/*.[ch] src/*/*/*.[ch] tests/*/*.[ch] tests/*/*/*.[ch])

.PHONY: format clean distclean help
format:
	@clang-format -i $(FILES)

clean:
	@[ -f $(B)/config.mk ] || [ ! -e $(B) ] || [ $(B) = build ] || \
	    { echo '$(BUILD) is not a build folder'; exit 1; }
	rm -rf $(B)

distclean:
	rm -rf build autom4te.cache configure configure~ config.log config.status

help:
	@cat packaging/help

# ---- installing --------------------------------------------------------------------------------------

DESTDIR ?=
PROGRAMS = $(DAEMON) $(filter-out %_mpi,$(TOOLS))
# Installed by install-mpi, and in a package of their own.
MPI_INSTALLED = $(strip $(MPI_TOOLS) $(filter %_mpi,$(TOOLS)))
# Installed programs have no debugging symbols; STRIP=: keeps them.
STRIP   ?= strip
STRIP_FLAGS = --strip-unneeded --remove-section=.comment --remove-section=.note
BASH_COMPLETIONS = $(datarootdir)/bash-completion/completions
ZSH_COMPLETIONS = $(datarootdir)/zsh/site-functions
COMPLETED = $(OLD_NAMES) dftracer_server
NAMES_HERE = sed 's/@NAMES@/$(COMPLETED)/'
MPI_PAGES = $(wildcard docs/man/*[-_]mpi.1)
MAN_PAGES = $(filter-out $(MPI_PAGES),$(wildcard docs/man/*.[1-8]))
# The template is for users' own managers, the others for the system's.
USER_UNITS = $(wildcard systemd/*@.service)
UNITS = $(filter-out $(USER_UNITS),$(wildcard systemd/*.service systemd/*.socket))
systemduserunitdir = $(patsubst %/system,%/user,$(systemdsystemunitdir))
ETC = $(filter-out etc/grafana etc/slurm,$(wildcard etc/*))
DOCS = $(wildcard README.md LICENSE packaging/copyright docs/*.md)
DROP_INS = $(wildcard systemd/*.conf)

.PHONY: install install-mpi uninstall
install: all $(if $(MPI_INSTALLED),install-mpi)
	install -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(docdir)'
	rm -f '$(DESTDIR)$(sbindir)/dftracerd' # where earlier versions installed it
	for f in $(PROGRAMS) $(CLIENT); do install -m 755 $$f '$(DESTDIR)$(bindir)' || exit 1; done
	for f in $(notdir $(PROGRAMS)); do $(STRIP) $(STRIP_FLAGS) '$(DESTDIR)$(bindir)'/$$f || exit 1; done
	for f in $(OLD_NAMES); do ln -sf dftracerctl "$(DESTDIR)$(bindir)/$$f" || exit 1; done
	install -d '$(DESTDIR)$(BASH_COMPLETIONS)' '$(DESTDIR)$(ZSH_COMPLETIONS)'
	$(NAMES_HERE) src/client/completion/dftracerctl.bash >'$(DESTDIR)$(BASH_COMPLETIONS)/dftracerctl'
	$(NAMES_HERE) src/client/completion/_dftracerctl >'$(DESTDIR)$(ZSH_COMPLETIONS)/_dftracerctl'
	chmod 644 '$(DESTDIR)$(BASH_COMPLETIONS)/dftracerctl' '$(DESTDIR)$(ZSH_COMPLETIONS)/_dftracerctl'
	for f in $(COMPLETED); do ln -sf dftracerctl "$(DESTDIR)$(BASH_COMPLETIONS)/$$f" || exit 1; done
	for f in $(MAN_PAGES); do d='$(DESTDIR)$(mandir)'/man$${f##*.}; \
	    install -d "$$d" && install -m 644 $$f "$$d" || exit 1; done
	for f in $(OLD_NAMES); do echo '.so man1/dftracerctl.1' >"$(DESTDIR)$(mandir)/man1/$$f.1" || exit 1; done
	echo '.so man8/dftracerd.8' >'$(DESTDIR)$(mandir)/man1/dftracer_server.1'
	chmod 644 '$(DESTDIR)$(mandir)/man1'/dftracer_*.1
	ln -sf dftracerd '$(DESTDIR)$(bindir)/dftracer_server'
	for f in $(UNITS) $(USER_UNITS) $(DROP_INS); do d='$(DESTDIR)$(systemdsystemunitdir)'; \
	    case $$f in *@.service) d='$(DESTDIR)$(systemduserunitdir)' ;; *.conf) d='$(DESTDIR)$(docdir)' ;; esac; install -d "$$d" && \
	    sed -e 's,@bindir@,$(bindir),g' -e 's,@sysconfdir@,$(sysconfdir),g' $$f \
	        >"$$d/$${f##*/}" && chmod 644 "$$d/$${f##*/}" || exit 1; done
	for f in $(ETC); do d='$(DESTDIR)$(sysconfdir)'; install -d "$$d"; \
	    [ -e "$$d/$${f##*/}" ] || install -m 644 $$f "$$d" || exit 1; done
	for f in $(DOCS); do install -m 644 $$f '$(DESTDIR)$(docdir)' || exit 1; done
	install -d '$(DESTDIR)$(docdir)/grafana' && install -m 644 etc/grafana/* '$(DESTDIR)$(docdir)/grafana'

install-mpi: $(MPI_INSTALLED)
	install -d '$(DESTDIR)$(bindir)' '$(DESTDIR)$(mandir)/man1' '$(DESTDIR)$(docdir)/slurm'
	for f in $(MPI_INSTALLED); do install -m 755 $$f '$(DESTDIR)$(bindir)' && \
	    $(STRIP) $(STRIP_FLAGS) "$(DESTDIR)$(bindir)/$${f##*/}" || exit 1; done
	install -m 644 $(MPI_PAGES) '$(DESTDIR)$(mandir)/man1'
	install -m 644 etc/slurm/* '$(DESTDIR)$(docdir)/slurm'

# Configuration files stay: they are the administrator's.
uninstall:
	for f in $(notdir $(PROGRAMS) $(MPI_INSTALLED) $(CLIENT)) $(OLD_NAMES); do rm -f "$(DESTDIR)$(bindir)/$$f"; done
	for f in dftracerctl $(COMPLETED); do rm -f "$(DESTDIR)$(BASH_COMPLETIONS)/$$f"; done
	rm -f '$(DESTDIR)$(ZSH_COMPLETIONS)/_dftracerctl'
	rm -f '$(DESTDIR)$(bindir)/dftracer_server' '$(DESTDIR)$(sbindir)/dftracerd'
	for f in $(MAN_PAGES) $(MPI_PAGES); do rm -f "$(DESTDIR)$(mandir)/man$${f##*.}/$${f##*/}"; done
	for f in $(COMPLETED); do rm -f "$(DESTDIR)$(mandir)/man1/$$f.1"; done
	for f in $(notdir $(USER_UNITS)); do rm -f "$(DESTDIR)$(systemduserunitdir)/$$f"; done
	for f in $(notdir $(UNITS)); do rm -f "$(DESTDIR)$(systemdsystemunitdir)/$$f"; done
	rm -rf '$(DESTDIR)$(docdir)'

# The tarball carries configure and the built page, so that building it needs neither autoconf nor npm. It is made of what is
# committed, and the same commit gives the same bytes.
.PHONY: dist
dist: configure $(PAGE)/index.html
	@[ "$$(git rev-parse --show-prefix 2>/dev/null || echo none)" = '' ] || { echo 'a tarball is made in a clone of the repository'; exit 1; }
	@[ -s $(PAGE)/index.html ] || { echo 'no tarball without the page: npm is needed (make page)'; exit 1; }
	@[ -z "$$(git status --porcelain)" ] || echo 'not in the tarball: what is not committed' >&2
	@mkdir -p build
	git -c tar.umask=0022 archive --prefix=dftracerd-$(VERSION)/ -o build/dist.tar HEAD
	tar --append -f build/dist.tar --sort=name --owner=0 --group=0 --numeric-owner --mode=u+w,go-w,a+rX \
	    --mtime=@$$(git log -1 --format=%ct) --transform 's,^$(PAGE),web/dist,;s,^,dftracerd-$(VERSION)/,' configure $(PAGE)
	gzip -9nf <build/dist.tar >build/dftracerd-$(VERSION).tar.gz
	@rm build/dist.tar; echo build/dftracerd-$(VERSION).tar.gz

# Packages for this release of Debian, built beside everything else; deb-of makes them of a build that is there. What needs MPI is
# in dftracerd-mpi.
# It is compiled as Debian hardens its own packages.
deb_flags = $1="$(shell DEB_BUILD_MAINT_OPTIONS=hardening=+all dpkg-buildflags --get $1)"
DEB_CONFIG = --prefix=/usr --sysconfdir=/etc --localstatedir=/var $(foreach v,CFLAGS CPPFLAGS LDFLAGS,$(call deb_flags,$v))

.PHONY: deb deb-build deb-of release
release: export MAKE := $(MAKE)
release:
	@packaging/release $(if $(findstring command,$(origin VERSION)),'$(VERSION)')

# Two calls of make: the flags are those of a dpkg-dev that the first may have installed.
deb:
	@packaging/deps deb
	@$(MAKE) deb-build
deb-build:
	@$(MAKE) BUILD=build/deb CONFIG='$(DEB_CONFIG)' -j$(JOBS) all
	@$(MAKE) BUILD=build/deb deb-of

deb-of: all
	@command -v dpkg-shlibdeps >/dev/null || { echo 'dpkg-dev is needed'; exit 1; }
	@rm -rf $(B)/package $(B)/package-mpi $(B)/*.deb
	@$(MAKE) -s BUILD=$(BUILD) install MPI_INSTALLED= prefix=/usr sysconfdir=/etc localstatedir=/var \
	    ZSH_COMPLETIONS=/usr/share/zsh/vendor-completions DESTDIR='$(abspath $B)/package'
	@packaging/deb dftracerd '$(abspath $B)/package' $(VERSION) '$(abspath $B)'
	@[ -z '$(MPI_INSTALLED)' ] || { $(MAKE) -s BUILD=$(BUILD) install-mpi prefix=/usr docdir=/usr/share/doc/dftracerd-mpi \
	    DESTDIR='$(abspath $B)/package-mpi' && packaging/deb dftracerd-mpi '$(abspath $B)/package-mpi' $(VERSION) '$(abspath $B)'; }

.PHONY: FORCE
FORCE:

-include $(wildcard $(foreach d,fail/src obj/src obj/tests,$(B)/$d/*/*.d $(B)/$d/*/*/*.d) $(B)/fail/tests/*/*.d)
