# SPDX-License-Identifier: MIT
# A menu over meson; nothing is decided here.
BUILD ?= build

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' Makefile | expand -t 14
build: $(BUILD)/build.ninja ## compile
	grep -q '^build tests/golden/' $< || meson configure $(BUILD) -Dtests=true # scripts/demo sets it up without
	ninja -C $(BUILD)
$(BUILD)/build.ninja:
	meson setup $(BUILD)
demo: ## a lost wakeup, found
	BUILD=$(BUILD) scripts/demo
test: ## everything: installs, builds, runs all tests
	BUILD=$(BUILD) scripts/test
unit: build ## the unit tests alone
	meson test -C $(BUILD)
e2e: build ## the end-to-end tests alone; ONLY=word keeps those whose name has it
	/usr/bin/python3 tests/e2e/run.py --build=$(BUILD) $(ONLY)
museum: build ## the museum at length: every exhibit, every condition, many times; writes docs/museum.md
	/usr/bin/python3 tests/museum/run.py --build=$(BUILD) --long $(ONLY)
kills: build ## SIGKILL at random instants, 1000 rounds; ONLY=number repeats one, SEED=word chooses others
	/usr/bin/python3 tests/e2e/kills.py --build=$(BUILD) $(if $(SEED),--seed=$(SEED)) $(if $(ONLY),--only=$(ONLY))
attaches: build ## attaches and detaches, 1000 rounds on one busy program; SEED=word repeats a run
	/usr/bin/python3 tests/e2e/attaches.py --build=$(BUILD) $(if $(SEED),--seed=$(SEED)) -v
asan: ## unit tests with AddressSanitizer and UBSan
	BUILD=$(BUILD) scripts/unit asan
fuzz: ## every reader at length on broken input, with sanitizers; MINUTES=10 for each, ONLY=name for one
	meson setup --reconfigure $(BUILD)-asan -Db_sanitize=address,undefined -Db_lundef=false || meson setup $(BUILD)-asan -Db_sanitize=address,undefined -Db_lundef=false
	tests/fuzz/run $(BUILD)-asan $(or $(MINUTES),2) $(ONLY)
tsan: ## unit tests with ThreadSanitizer
	BUILD=$(BUILD) scripts/unit tsan
mutants: ## conditions of verdicts taken away one by one: does a test notice? ONLY=word tries some
	/usr/bin/python3 tests/mutants/run.py $(ONLY)
bench: build ## what all of it costs, beside bare programs and other tools; writes docs/performance.md; ONLY=word prints some
	bench/run $(BUILD) --install $(if $(ONLY),$(ONLY),-o docs/performance.md)
bench-hooks: build ## what hooks add to calls that are no switches, in time and instructions
	bench/run-hooks $(BUILD)
lint: ## do includes keep to the layers?
	tests/check_includes .
install: build ## install; DESTDIR is honoured
	meson install -C $(BUILD)
dist: build ## a source archive of the last commit
	meson dist -C $(BUILD) --no-tests

.PHONY: help build demo test unit e2e museum kills attaches asan fuzz tsan mutants bench bench-hooks lint install dist
