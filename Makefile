# SPDX-License-Identifier: Apache-2.0
#
# Makefile - holdfast, built by GNU make alone
#
#   make            $(BUILD)/holdfast: optimised, dynamic, with TLS
#   make release    $(BUILD)/release/holdfast: static, stripped, without TLS (TLS=1 adds it)
#   make asan       $(BUILD)/asan/holdfast: with AddressSanitizer and UBSan
#   make check      layers, unit, wire and native tests against one flavour: the quick tests
#   make test       layers, fuzz, unit and the tests against the real binary
#   make coverage   line and branch coverage of keeper, vault and journal, by gcov
#   make sdk | web  the TypeScript SDK and the page of the binary, by npm (WEB=0: a binary without the page)
#   make DIALECTS="e2b docker"   any of these with no other dialects than the native one and those (all)
#   make model      explores the protocol of vault, keeper and worker (docs/model): minutes
#   make unit | layers | style | fuzz | lint | format | bench | install | clean
#
# Each flavour has object files of its own, so that changing from one to the
# other builds nothing twice. All of them assert: NDEBUG is never defined.
#
# A line is printed for each file; V=1 prints whole commands, -s nothing.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CLANG ?= clang
FUZZ_SECONDS ?= 20
VERSION ?= 0.1.0

# The tools that scripts/setup installed for this checkout come first.
export PATH := $(CURDIR)/.tools/bin:$(PATH)
export npm_config_cache := $(CURDIR)/.tools/npm-cache

# $(call say,WHAT,FILE) prints the short line, and Q hides the whole command behind it.
Q := $(if $(filter 1,$(V)),,@)
QUIET := $(findstring s,$(filter-out --%,$(firstword -$(MAKEFLAGS))))
say = $(if $(Q),$(if $(QUIET),,@printf '  %-5s %s\n' '$(1)' '$(2)'))

# The quick binary has TLS, the release has not: static OpenSSL weighs more
# than all the rest together. Either can be told otherwise by TLS=0 or TLS=1.
TLS_DYNAMIC := $(if $(TLS),$(TLS),1)
TLS_RELEASE := $(if $(TLS),$(TLS),0)

# DIALECTS: those that are built in beside the native one. Each folder of src/dialects is one.
ALL_DIALECTS := $(filter-out common native,$(sort $(patsubst src/dialects/%/,%,$(wildcard src/dialects/*/))))
DIALECTS ?= $(ALL_DIALECTS)
NO_SUCH_DIALECT := $(filter-out native $(ALL_DIALECTS),$(DIALECTS))
ifneq ($(NO_SUCH_DIALECT),)
$(error DIALECTS: unknown: $(NO_SUCH_DIALECT); available: $(ALL_DIALECTS))
endif
BUILT_IN := $(filter $(DIALECTS),$(ALL_DIALECTS))
LEFT_OUT := $(filter-out $(DIALECTS),$(ALL_DIALECTS))

# $(call present,FILES) leaves out the sources of dialects that are not built in, and the tests that include their headers.
LEFT_OUT_PATTERN := "dialects/($(subst $() $(),|,$(LEFT_OUT)))/
present = $(filter-out $(addsuffix /%,$(addprefix src/dialects/,$(LEFT_OUT))) \
	$(if $(LEFT_OUT),$(shell grep -lsE '$(LEFT_OUT_PATTERN)' $(filter-out src/%,$(1)))),$(1))

ALL_SRC := $(sort $(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c))
SRC := $(call present,$(ALL_SRC))
HDR := $(sort $(wildcard src/*/*.h src/*/*/*.h src/*/*/*/*.h))

# The page is built where npm is; without it the binary says where to get it.
WEB ?= $(if $(shell PATH='$(PATH)' command -v npm),1,0)
PAGE := web/dist/page.html.gz web/dist/page.csp
OPENAPI := $(BUILD)/gen/openapi.json.gz
EMBED := $(OPENAPI) $(sort $(call present,$(wildcard src/dialects/mcp/mcp_tools.json \
	src/engine/spawn/shell/*))) $(if $(filter 1,$(WEB)),$(PAGE))

# llhttp is a library where the distribution has it as one (Debian 13: libllhttp-dev).
# Debian 12 ships only its C source, in node-llhttp; there the source is compiled.
LLHTTP_SRC ?= $(if $(wildcard /usr/include/llhttp.h),,/usr/share/llhttp)
LLHTTP := $(if $(LLHTTP_SRC),api http llhttp)
LLHTTP_FLAGS := -DLLHTTP_STRICT_MODE=1 -std=gnu11 -w
LLHTTP_INC ?= $(if $(LLHTTP_SRC),-I/usr/share/include/llhttp)
LLHTTP_LIB := $(if $(LLHTTP_SRC),,-l:libllhttp.a)
ALL_UNIT := $(sort $(wildcard tests/unit/*.[ch] tests/unit/*/*.[ch] tests/unit/*/*/*.[ch] tests/unit/*/*/*/*.[ch]))
UNIT := $(call present,$(filter %.c,$(ALL_UNIT)))
FUZZ := $(call present,$(sort $(wildcard fuzz/fuzz_*.c)))
MAN := $(sort $(wildcard docs/man/*.1))
UNITS := $(sort $(wildcard deploy/*.service))

CPPFLAGS_ALL = -Isrc -I$(BUILD)/gen $(LLHTTP_INC) -D_GNU_SOURCE -DHF_VERSION='"$(VERSION)"' $(CPPFLAGS)
CFLAGS_ALL = -std=gnu11 -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes \
	-Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wvla \
	-fstack-protector-strong $(CFLAGS)
LIBS_DYNAMIC := $(LLHTTP_LIB) -ljansson -lz -lhiredis -lnghttp2 -lpthread
LIBS_STATIC := $(LLHTTP_LIB) -l:libjansson.a -l:libz.a -l:libhiredis.a -l:libnghttp2.a -lpthread
LIBS_TLS := -lssl -lcrypto
# The libcrypto.a of Debian 13 compresses with zstd (libzstd-dev), that of Debian 12 does not.
LIBS_TLS_STATIC = -l:libssl.a -l:libcrypto.a $(filter /%,$(shell $(CC) -print-file-name=libzstd.a))

# SAN: sanitizers of the asan flavour and of the unit tests.
SAN ?= address,undefined
SAN_FLAGS = -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer

.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: all objects release asan unit unit-build layers style fuzz fuzz-build lint \
	lint-format lint-tidy lint-cppcheck format model check test faults go-tests coverage coverage-build bench install install-units clean embed sdk web lint-web

all: $(BUILD)/holdfast

# Uncompressed, it would be a sixteenth of the release binary.
$(OPENAPI): src/dialects/native/openapi.json
	@mkdir -p $(@D)
	$(Q)gzip -9nc $< > $@

# --- the flavours ---------------------------------------------------------
# $(call flavour,NAME,DIR,COMPILER,CFLAGS,TLS): rules for all objects below DIR.
# NAME_OBJ is what a program is linked from; NAME_LIB is the same without main.

define flavour
$(1)_SRC := $$(if $$(filter 1,$(5)),$$(SRC),$$(filter-out src/transport/tls.c src/transport/tls_client.c,$$(SRC)))
$(1)_OBJ := $$($(1)_SRC:%.c=$(2)/%.o) $$(LLHTTP:%=$(2)/llhttp/%.o) $$(EMBED:%=$(2)/%.o)
$(1)_LIB := $$(filter-out $(2)/src/cli/main.o,$$($(1)_OBJ))

$(2)/src/%.o: src/%.c $(2)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$(3) $$(CPPFLAGS_ALL) -DHF_TLS=$(5) $$(CFLAGS_ALL) $(4) -MMD -MP -c -o $$@ $$<

$(2)/llhttp/%.o: $$(LLHTTP_SRC)/%.c $(2)/flags
	@mkdir -p $$(@D)
	$$(call say,CC,$$@)
	$$(Q)$(3) $$(LLHTTP_INC) $$(LLHTTP_FLAGS) $(4) -c -o $$@ $$<

# A file becomes the bytes between two symbols named after it, as in
# base/embed.h: openapi.json.gz -> embed_openapi_json_gz_start, embed_openapi_json_gz_end.
$$(EMBED:%=$(2)/%.o): $(2)/%.o: % $(2)/flags
	@mkdir -p $$(@D)
	$$(call say,EMBED,$$@)
	$$(Q)printf '%s\n' '.section .rodata' '.balign 16' \
	    '.global embed_$$(subst -,_,$$(subst .,_,$$(notdir $$*)))_start' \
	    '.global embed_$$(subst -,_,$$(subst .,_,$$(notdir $$*)))_end' \
	    'embed_$$(subst -,_,$$(subst .,_,$$(notdir $$*)))_start: .incbin "$$<"' \
	    'embed_$$(subst -,_,$$(subst .,_,$$(notdir $$*)))_end: .byte 0' \
	    '.section .note.GNU-stack,"",%progbits' | $(3) -x assembler -c -o $$@ -

# Objects are made anew when the flags they were made with have changed.
$(2)/flags: FORCE
	@mkdir -p $$(@D)
	@echo '$(3) $$(subst ','"'"',$$(CPPFLAGS_ALL)) $$(CFLAGS_ALL) $(4) $$(LLHTTP_FLAGS) TLS=$(5) WEB=$$(WEB)' | cmp -s - $$@ || \
	    echo '$(3) $$(subst ','"'"',$$(CPPFLAGS_ALL)) $$(CFLAGS_ALL) $(4) $$(LLHTTP_FLAGS) TLS=$(5) WEB=$$(WEB)' > $$@

$(2)/src/cli/dialects.o: $$(BUILT_IN_H)

-include $$($(1)_SRC:%.c=$(2)/%.d)
endef

.PHONY: FORCE
FORCE:

# The table of dialects in src/cli/dialects.c. It changes only with the list, and then dialects.o, the archives and the
# programs are made anew.
BUILT_IN_H := $(BUILD)/gen/cli/dialects_built_in.h
$(BUILT_IN_H): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '/* Made by make from DIALECTS. */' \
	    '#define DIALECTS_BUILT_IN(X) $(foreach d,$(BUILT_IN),X($(subst -,_,$(d))))' \
	    '#define DIALECTS_LEFT_OUT $(LEFT_OUT:%="%",)' >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# What makes a fault of ours harder to use: the program lies at a random place, its tables of addresses cannot be written
# to, calls of the C library check the sizes they know, and jumps land where they may (where compiler and machine can).
BRANCH_FLAG := $(firstword $(foreach f,-fcf-protection=full -mbranch-protection=standard,\
	$(shell $(CC) $(f) -c -x c -o /dev/null /dev/null 2>/dev/null && echo $(f))))
HARDEN_CFLAGS := -fPIE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-clash-protection $(BRANCH_FLAG)
HARDEN_LDFLAGS := -Wl,-z,relro,-z,now,-z,noexecstack
# A static program that lies anywhere relocates itself; packed, what it needs for that takes 2 KB instead of 130. The linker
# and the C library must both know that form (binutils 2.38, glibc 2.36).
RELR_LDFLAGS := $(shell printf '\043include <features.h>\n_Static_assert(__GLIBC_PREREQ(2, 36), "");int main(void){return 0;}' | \
	$(CC) -Wl,-z,pack-relative-relocs,--fatal-warnings -x c -o /dev/null - 2>/dev/null && echo -Wl,-z,pack-relative-relocs)

DYNAMIC_CFLAGS := -O2 -g $(HARDEN_CFLAGS)
# Nobody unwinds the stack of a stripped binary: the tables for that would be a tenth of it. The flags keep them out
# of our own objects, and scripts/release.ld leaves out those of the libraries.
RELEASE_CFLAGS := -O2 $(HARDEN_CFLAGS) -DHF_STATIC=1 -ffunction-sections -fdata-sections \
	-fno-asynchronous-unwind-tables -fno-unwind-tables
ASAN_CFLAGS := -O1 -g $(SAN_FLAGS)
FUZZ_CFLAGS := -O1 -g -fsanitize=fuzzer-no-link,$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer

$(eval $(call flavour,DYNAMIC,$(BUILD)/obj,$$(CC),$$(DYNAMIC_CFLAGS),$(TLS_DYNAMIC)))
$(eval $(call flavour,RELEASE,$(BUILD)/release/obj,$$(CC),$$(RELEASE_CFLAGS),$(TLS_RELEASE)))
$(eval $(call flavour,ASAN,$(BUILD)/asan/obj,$$(CC),$$(ASAN_CFLAGS),$(TLS_DYNAMIC)))
# Only what is measured counts: every process that ends writes the counters of all such files.
COVERED := $(filter src/keeper/%.c src/vault/%.c src/engine/journal/journal%.c,$(SRC))
# The child's small functions are measured once rather than at each place that they are inlined at.
COVER_FLAGS := --coverage -fprofile-update=atomic -fdata-sections '-DRAW_INLINE=RAW_CODE __attribute__((unused)) static'
COVER_CFLAGS = -O0 -g $(if $(filter $(COVERED:%.c=$(BUILD)/coverage/obj/%.o),$@),$(COVER_FLAGS))
COVER_LDFLAGS := -Wl,-T,tests/coverage/counters.ld -Wl,--wrap=__gcov_exit -lgcov

$(eval $(call flavour,COVER,$(BUILD)/coverage/obj,$$(CC),$$(COVER_CFLAGS),$(TLS_DYNAMIC)))
$(eval $(call flavour,FUZZ,$(BUILD)/fuzz/obj,$$(CLANG),$$(FUZZ_CFLAGS),$(TLS_DYNAMIC)))

# --- programs -------------------------------------------------------------

DYNAMIC_LIBS := $(if $(filter 1,$(TLS_DYNAMIC)),$(LIBS_TLS)) $(LIBS_DYNAMIC)
RELEASE_LIBS := $(if $(filter 1,$(TLS_RELEASE)),$(LIBS_TLS_STATIC)) $(LIBS_STATIC)

# Only compiles: to see at once whether a change of one part is sound.
objects: $(DYNAMIC_OBJ)

$(BUILD)/holdfast: $(DYNAMIC_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) -pie $(HARDEN_LDFLAGS) $(LDFLAGS) -o $@ $(DYNAMIC_OBJ) $(DYNAMIC_LIBS)

asan: $(BUILD)/asan/holdfast
$(BUILD)/asan/holdfast: $(ASAN_OBJ)
	$(call say,LINK,$@)
	$(Q)$(CC) $(SAN_FLAGS) $(LDFLAGS) -o $@ $(ASAN_OBJ) $(DYNAMIC_LIBS)

# A static glibc cannot look up users or hosts without the shared libraries
# of the machine it runs on, so our own objects must not ask it to.
NSS_CALLS := getpw(nam|uid|ent)(_r)?|getgr(nam|gid|ent)(_r)?|getgrouplist|initgroups|getaddrinfo|gethostby.*|getservby.*|dlopen

# These unwind the stack, for which a release has no tables: a thread ends by returning. The libcrypto of Debian 13
# has such a call, so with TLS the tables of the libraries stay.
UNWIND_CALLS := pthread_(exit|cancel)|thrd_exit|backtrace.*|_Unwind_.*
NO_UNWIND_LDFLAGS := -Wl,--no-eh-frame-hdr -Wl,-T,scripts/release.ld

release: $(BUILD)/release/holdfast
$(BUILD)/release/holdfast: $(RELEASE_OBJ) scripts/release.ld
	@if nm -A --undefined-only $(RELEASE_OBJ) | grep -E ' U ($(NSS_CALLS)|$(UNWIND_CALLS))$$'; then \
	    echo 'release: the calls above do not work in a static binary' >&2; exit 1; fi
	$(call say,LINK,$@)
	$(Q)$(CC) -static-pie $(HARDEN_LDFLAGS) $(RELR_LDFLAGS) $(if $(filter 1,$(TLS_RELEASE)),,$(NO_UNWIND_LDFLAGS)) $(LDFLAGS) -Wl,--gc-sections -Wl,-Map,$@.map -s -o $@ $(RELEASE_OBJ) $(RELEASE_LIBS)

embed: $(EMBED:%=$(BUILD)/obj/%.o)

# --- what npm builds ------------------------------------------------------
# npm leaves a copy of the lock file behind when it is done.

NPM_LOG ?= error
NPM_CI := npm ci --no-audit --no-fund --loglevel=$(NPM_LOG)

%/node_modules/.package-lock.json: %/package-lock.json
	$(call say,NPM,$*)
	$(Q)cd $* && $(NPM_CI)
	@touch $@

SDK_SRC := $(filter-out %.gen.ts,$(wildcard sdk/typescript/src/*.ts)) $(wildcard sdk/typescript/scripts/*) \
	sdk/typescript/tsconfig.json sdk/typescript/package.json src/dialects/native/openapi.json

sdk: sdk/typescript/dist/index.js
sdk/typescript/dist/index.js: $(SDK_SRC) sdk/typescript/node_modules/.package-lock.json
	$(call say,TSC,$@)
	$(Q)cd sdk/typescript && npm run -s build
	@touch $@

WEB_SRC := $(wildcard web/src/*) web/build.mjs web/tsconfig.json web/package.json \
	$(filter-out %.gen.ts,$(wildcard sdk/typescript/src/*.ts))

web: $(PAGE)
# One recipe makes both: the policy has the hash of the page's script.
web/dist/page.html.gz web/dist/page.csp &: $(WEB_SRC) web/node_modules/.package-lock.json
	$(call say,PAGE,web/dist/page.html.gz)
	$(Q)cd web && npm run -s build

# --- tests ----------------------------------------------------------------
# tests/unit mirrors src; each test_x.c in it is a program of its own, linked with what it uses of
# src, as each fuzz target is; the archives hold all but main.

$(BUILD)/asan/lib.a: $(ASAN_LIB)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)ar rcs $@ $(ASAN_LIB)

$(BUILD)/coverage/lib.a: $(COVER_LIB)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)ar rcs $@ $(COVER_LIB)

$(BUILD)/fuzz/lib.a: $(FUZZ_LIB)
	@rm -f $@
	$(call say,AR,$@)
	$(Q)ar rcs $@ $(FUZZ_LIB)

UNIT_BIN := $(UNIT:tests/unit/%.c=$(BUILD)/unit/%)
# A test that makes calls fail names them in a line "/* Wraps: mmap fork */"; tests/unit/failing.h.
WRAPS = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n 's|^/\* Wraps: \(.*\) \*/$$|\1|p' $<))
comma := ,

$(BUILD)/unit/%: tests/unit/%.c $(BUILD)/asan/lib.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests/unit -DHF_TLS=$(TLS_DYNAMIC) $(CFLAGS_ALL) $(ASAN_CFLAGS) \
	    -MMD -MP -MF $@.d -o $@ $< $(BUILD)/asan/lib.a $(WRAPS) $(DYNAMIC_LIBS)
-include $(UNIT_BIN:%=%.d)

# The file "programs" names those that this build has, for scripts/run-tests.
unit-build: $(UNIT_BIN)
	@printf '%s\n' $(UNIT_BIN) >$(BUILD)/unit/programs
unit: unit-build
	@scripts/unit $(UNIT_BIN)

layers:
	@scripts/layers --self-test
	@scripts/layers

FUZZ_BIN := $(FUZZ:fuzz/%.c=$(BUILD)/fuzz/%)

$(BUILD)/fuzz/fuzz_%: fuzz/fuzz_%.c $(BUILD)/fuzz/lib.a
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CLANG) $(CPPFLAGS_ALL) -DHF_TLS=$(TLS_DYNAMIC) $(CFLAGS_ALL) -O1 -g \
	    -fsanitize=fuzzer,$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer \
	    -MMD -MP -MF $@.d -o $@ $< $(BUILD)/fuzz/lib.a $(DYNAMIC_LIBS)
-include $(FUZZ_BIN:%=%.d)

fuzz-build: $(FUZZ_BIN)
	@printf '%s\n' $(notdir $(FUZZ_BIN)) >$(BUILD)/fuzz/programs
fuzz: fuzz-build
	@scripts/fuzz $(BUILD)/fuzz $(FUZZ_SECONDS)

# What the matrix of tests/faults/every_syscall needs: the release, with an allocator in front that can refuse, the program
# that strikes it, and the programs that it runs.
FAULTS := $(BUILD)/faults
FAULTS_SRC := tests/faults/every_syscall
FAULTS_CFLAGS := -std=gnu11 -O2 -g -D_GNU_SOURCE -Wall -Wextra -Werror -Wshadow

faults: $(FAULTS)/holdfast $(FAULTS)/inject $(FAULTS)/program
$(FAULTS)/calls.h: Makefile
	@mkdir -p $(@D)
	$(Q)echo '#include <sys/syscall.h>' | $(CC) -E -dM -x c - | \
	    sed -n 's/^#define SYS_\([a-z0-9_]*\) .*/{SYS_\1, "\1"},/p' | sort > $@
$(FAULTS)/%: $(FAULTS_SRC)/%.c $(FAULTS)/calls.h
	$(call say,CC,$@)
	$(Q)$(CC) $(FAULTS_CFLAGS) -I$(FAULTS) -o $@ $<
$(FAULTS)/alloc.o: $(FAULTS_SRC)/alloc.c $(FAULTS)/calls.h
	$(call say,CC,$@)
	$(Q)$(CC) $(FAULTS_CFLAGS) $(HARDEN_CFLAGS) -c -o $@ $<
$(FAULTS)/holdfast: $(RELEASE_OBJ) $(FAULTS)/alloc.o
	$(call say,LINK,$@)
	$(Q)$(CC) -static-pie $(HARDEN_LDFLAGS) $(RELR_LDFLAGS) $(LDFLAGS) -Wl,--gc-sections \
	    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=prctl -o $@ $(RELEASE_OBJ) $(FAULTS)/alloc.o $(RELEASE_LIBS)

# Each folder of tests/go is one program. Modules and Go's build cache stay in this checkout.
GO_TESTS := $(sort $(wildcard tests/go/*/*_test.go))
GO_BIN := $(patsubst tests/go/%/,$(BUILD)/go/%.test,$(sort $(dir $(GO_TESTS))))
GO_ENV := GOTOOLCHAIN=local GOFLAGS='-mod=readonly -modcacherw' \
	GOENV="$${XDG_CONFIG_HOME:-$$HOME/.config}/go/env" XDG_CONFIG_HOME='$(CURDIR)/.tools/go-cache' \
	GOPATH='$(CURDIR)/.tools/go-cache/path' GOCACHE='$(CURDIR)/.tools/go-cache/build'

# h2spec is a program of another module, which tests/go/go.mod pins as a tool.
go-tests: $(GO_BIN) $(BUILD)/go/h2spec
$(BUILD)/go/h2spec: tests/go/go.mod tests/go/go.sum
	@mkdir -p $(@D)
	$(call say,GO,$@)
	$(Q)cd tests/go && $(GO_ENV) go build -o '$(abspath $@)' github.com/summerwind/h2spec/cmd/h2spec
$(BUILD)/go/%.test: $(GO_TESTS) tests/go/go.mod tests/go/go.sum
	@mkdir -p $(@D)
	$(call say,GO,$@)
	$(Q)cd tests/go && $(GO_ENV) go test -c -vet=off -o '$(abspath $@)' ./$*

# All interleavings of a small system, by SPIN; the tests run a part of it.
model:
	@scripts/model $(BUILD) full

# What to run after each change: one flavour, no browser, no other platform's client.
check: asan unit-build tests/node_modules/.package-lock.json
	@scripts/run-tests $(BUILD) quick

test: all asan release faults unit-build fuzz-build go-tests sdk tests/node_modules/.package-lock.json
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/run-tests $(BUILD) all

# --- coverage -------------------------------------------------------------
# The unit tests and the tests that drive the daemon into these files, without sanitizers and with
# gcov. tests/coverage/counters.c says how processes count that are killed.

COVER_UNIT := $(patsubst tests/unit/%.c,$(BUILD)/coverage/unit/%,\
	$(filter tests/unit/keeper/% tests/unit/vault/% tests/unit/engine/journal/test_journal.c,$(UNIT)))

$(BUILD)/coverage/counters.o: tests/coverage/counters.c
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CFLAGS_ALL) -O2 -c -o $@ $<

$(BUILD)/coverage/holdfast: $(COVER_OBJ) $(BUILD)/coverage/counters.o tests/coverage/counters.ld
	$(call say,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(COVER_OBJ) $(BUILD)/coverage/counters.o $(COVER_LDFLAGS) $(DYNAMIC_LIBS)

$(BUILD)/coverage/unit/%: tests/unit/%.c $(BUILD)/coverage/lib.a $(BUILD)/coverage/counters.o tests/coverage/counters.ld
	@mkdir -p $(@D)
	$(call say,CC,$@)
	$(Q)$(CC) $(CPPFLAGS_ALL) -Itests/unit -DHF_TLS=$(TLS_DYNAMIC) $(CFLAGS_ALL) -O0 -g \
	    -MMD -MP -MF $@.d -o $@ $< $(BUILD)/coverage/counters.o $(BUILD)/coverage/lib.a $(WRAPS) $(COVER_LDFLAGS) $(DYNAMIC_LIBS)
-include $(COVER_UNIT:%=%.d)

coverage-build: $(BUILD)/coverage/holdfast $(COVER_UNIT)
	@printf '%s\n' $(COVER_UNIT) >$(BUILD)/coverage/unit/programs
coverage: coverage-build tests/node_modules/.package-lock.json
	@scripts/coverage $(BUILD)

bench: all release
	bench/run

# --- lint -----------------------------------------------------------------

FORMATTED = $(ALL_SRC) $(HDR) $(ALL_UNIT) $(wildcard fuzz/*.[ch] bench/*.[ch])

lint: style lint-format lint-cppcheck lint-tidy $(if $(filter 1,$(WEB)),lint-web)

# Header comments, columns, unique names, and words that users read; docs/STYLE.md.
style:
	$(Q)node scripts/style.mjs --self-test && node scripts/style.mjs

# The types of the page; the SDK's are looked at whenever it is built.
lint-web: sdk web/node_modules/.package-lock.json
	cd web && npm run -s check

lint-format:
	$(Q)clang-format --dry-run -Werror $(FORMATTED)

# clang-tidy is slow, so a file is looked at again only when it or a header has changed.
lint-tidy: $(SRC:%.c=$(BUILD)/tidy/%.ok)
$(BUILD)/tidy/src/cli/dialects.ok: $(BUILT_IN_H)
$(BUILD)/tidy/%.ok: %.c $(HDR) .clang-tidy
	@mkdir -p $(@D)
	$(call say,TIDY,$<)
	$(Q)clang-tidy --quiet $< -- $(CPPFLAGS_ALL) -DHF_TLS=1 -std=gnu11 2>$@.log || { cat $@.log; false; }
	@touch $@

# comparePointers: the size of an embedded file is the distance of two symbols.
# internalAstError: cppcheck does not know a compound literal behind a "?".
# normalCheckLevelMaxBranches: newer ones tell of each file that they do not look at for hours.
# __asm__(x): nor do they know a variable that is bound to a register.
lint-cppcheck: $(BUILT_IN_H)
	@mkdir -p $(BUILD)/cppcheck
	$(Q)cppcheck --quiet --std=c11 --language=c --enable=warning,performance,portability \
	    --inline-suppr --suppress=comparePointers --suppress=internalAstError \
	    --suppress=normalCheckLevelMaxBranches '-D__asm__(x)=' \
	    --error-exitcode=1 --cppcheck-build-dir=$(BUILD)/cppcheck \
	    -Isrc -I$(BUILD)/gen -D_GNU_SOURCE -D__linux__ -D__$(shell uname -m)__ -DHF_TLS=1 -DHF_VERSION='"0"' $(SRC)

format:
	clang-format -i $(FORMATTED)

# --- the rest -------------------------------------------------------------

install: $(BUILD)/holdfast install-units
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/holdfast $(DESTDIR)$(PREFIX)/bin/holdfast
	for page in $(MAN); do \
	    install -m 644 $$page $(DESTDIR)$(PREFIX)/share/man/man1/ || exit 1; done

# The units name the binary where the default PREFIX has it.
install-units:
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	for unit in $(notdir $(UNITS)); do \
	    sed 's|/usr/local/bin/holdfast |$(PREFIX)/bin/holdfast |' deploy/$$unit \
	        > $(DESTDIR)$(PREFIX)/lib/systemd/system/$$unit || exit 1; done

clean:
	rm -rf $(BUILD)
