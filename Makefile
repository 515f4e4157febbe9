# A thin layer over the presets of CMakePresets.json. `make help` lists what there is.
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
BUILD := build/release
FORMATTED := $(wildcard include/*.h include/*/*.h src/*/*.[ch] cli/*.[ch] bench/*.[ch] examples/*.c \
               tests/*.[ch] tests/support/*.[ch] tests/fuzz/*.c)

MAKEFLAGS += --no-print-directory

.PHONY: all dependencies demo test asan bench fuzz install python viewer pictures format check-format picture clean help

all: dependencies ## build the library and the program in build/release
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target carom_program carom_shared

dependencies:
	@scripts/install-dependencies.sh build

demo: all ## learn friction, masses and potential of cp3 from trajectories (less than a minute)
	@scripts/demo.sh $(BUILD)/carom

test: ## everything that has to hold before a change is accepted
	@scripts/install-dependencies.sh test
	@scripts/test.sh all

asan: ## the test suite under AddressSanitizer and UndefinedBehaviorSanitizer
	@scripts/install-dependencies.sh test
	@scripts/test.sh asan

fuzz: ## fuzz the scene parser for FUZZ_SECONDS (20)
	@scripts/install-dependencies.sh test
	@scripts/test.sh fuzz

bench: all ## measure: contact events, scenes, ropes, groups, training
	@$(BUILD)/carom bench

install: all ## install below PREFIX (/usr/local); DESTDIR is heeded
	@cmake --install $(BUILD) --prefix "$(PREFIX)"

python: ## build and install the Python package, for the active virtual environment or the user
	@scripts/install-dependencies.sh python
	@cmake --preset release >/dev/null
	@cmake --build --preset release -j $(JOBS) --target carom_static carom_cli
	@scripts/python.sh install

viewer: ## build viewer/dist anew from viewer/src (needs Node; the result is in the repository)
	@scripts/install-dependencies.sh viewer
	@cd viewer && npm ci --no-audit --no-fund --loglevel=error && npm run --silent build

pictures: all ## make docs/images again (needs Node and Chromium)
	@scripts/install-dependencies.sh test
	@scripts/pictures.sh $(BUILD)/carom

format: ## lay out every C file with clang-format
	@scripts/install-dependencies.sh format
	@clang-format -i $(FORMATTED)

check-format: ## say which C files clang-format would change
	@scripts/install-dependencies.sh format
	@clang-format --dry-run --Werror $(FORMATTED)

picture: all ## draw docs/scenes.svg again (needs python3-h5py)
	@scripts/picture.py $(BUILD)/carom

clean: ## remove build/
	@rm -rf build

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
