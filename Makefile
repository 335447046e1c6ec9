# Two commands matter: `make demo` and `make test`. Both set up what they need, every time.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
PYTHON ?= python3
PY := .venv/bin/python
SERVE ?= 1
PORT ?= 8000
SECOND_CACHE := .pytest_cache/second
SECOND = $(PY) -m pytest --quiet -o cache_dir=$(SECOND_CACHE) -m "browser or processes"
SOURCES := annotation benchmark judging sensejudge_site tests manage.py

.PHONY: demo serve test test-rows check format messages llm-check llm-faults kill-test attack clean

demo: .venv/.base
	$(PY) manage.py migrate --verbosity 0
	$(PY) manage.py collectstatic --noinput --verbosity 0
	$(PY) manage.py demo
	@if [ "$(SERVE)" != 0 ]; then exec $(PY) manage.py serve --port "$(PORT)"; fi

serve: .venv/.base
	$(PY) manage.py migrate --verbosity 0
	$(PY) manage.py collectstatic --noinput --verbosity 0
	exec $(PY) manage.py serve --port "$(PORT)"

# Many processes import the same files: what one compiled is kept for the next, whoever starts them.
test test-rows: export PYTHONDONTWRITEBYTECODE =

test: .venv/.dev
	@[ -x /usr/bin/chromium-headless-shell ] || [ -x /usr/bin/chromium ] || \
		echo "No /usr/bin/chromium-headless-shell or chromium here: the browser tests will be skipped."
	@# Both at once: browsers and processes are waited for half of their time. What that part says comes last,
	@# and what failed of it, at most ten tests, is run once more when nothing else runs.
	@said=$$(mktemp); rm -rf $(SECOND_CACHE); \
	$(SECOND) --numprocesses 3 --dist worksteal $(ARGS) > $$said 2>&1 & \
	second=$$!; trap 'kill $$second 2> /dev/null || true; rm -f $$said' EXIT; failed=0; status=0; \
	$(PY) -m pytest --quiet --numprocesses auto --dist worksteal -m "not browser and not processes" \
		$(COVERAGE) $(ARGS) || failed=$$?; \
	wait $$second || status=$$?; cat $$said; \
	if [ $$status = 1 ]; then status=0; .ci/again $(SECOND_CACHE) $(SECOND) --numprocesses 0 $(ARGS) || status=$$?; fi; \
	[ $$status = 0 ] || failed=$$status; exit $$failed

# What touches rows, for a second database: tests without the mark are refused one.
test-rows: .venv/.dev
	$(PY) -m pytest --quiet --numprocesses auto --dist worksteal \
		-m "django_db and not browser and not processes" \
		--ignore-glob='*/core/*' $(ARGS)

check: .venv/.dev
	$(PY) -m ruff check $(SOURCES)
	$(PY) -m ruff format --check $(SOURCES)
	$(PY) -m mypy $(SOURCES)
	$(PY) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"
	$(PY) manage.py makemigrations --check --dry-run
	$(PY) -W error manage.py check
	find templates -name '*.html' -print0 | xargs -0 .venv/bin/djade --check --target-version 5.2
	$(PY) -m djlint --lint --quiet templates

format: .venv/.dev
	$(PY) -m ruff check --fix $(SOURCES)
	$(PY) -m ruff format $(SOURCES)
	-find templates -name '*.html' -print0 | xargs -0 .venv/bin/djade --target-version 5.2

messages: .venv/.dev
	$(PY) manage.py makemessages --locale zh_Hans --ignore '.venv/*' --ignore 'var/*' --ignore 'tests/*' --no-location --no-obsolete
	$(PY) manage.py compilemessages --ignore '.venv' --ignore 'var'

# A real llama.cpp server with a very small model: proves the protocol, not quality (CONTRIBUTING.md).
llm-check: .venv/.base
	PYTHON="$(PYTHON)" .ci/llm-check

# Weak and broken endpoints: echoes, placeholders, hanging, web pages, slow, leaning to the first place. In make test, too.
llm-faults: .venv/.dev
	$(PY) -m pytest --verbose --numprocesses 0 -m llm_faults $(ARGS)

# Ten kills of a run of 2,000 calls against an endpoint that fails a fifth of them, and of each command; minutes.
kill-test: .venv/.dev
	KILL_TEST=$${KILL_TEST:-$$RANDOM} $(PY) -m pytest -q tests/functional/test_killed_judging.py tests/functional/test_killed_satisfaction.py tests/functional/test_killed_commands.py -s -k "ten_times or killed_server or killed_worker or killed_command"

# Attacks on a running site, on SQLite and on PostgreSQL; minutes. ARGS="NAME --setting sqlite" chooses.
attack: .venv/.dev
	$(PY) -m tests.attacks $(ARGS)
	HOSTILE_VALUES=1 $(PY) -m pytest -q tests/functional/test_hostile_values.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis htmlcov .coverage

# The environment: uv where it can be had, plain pip otherwise; hashes are required either way.
.venv/bin/python:
	@echo "Making the environment (.venv) ..."
	$(PYTHON) -c 'import sys; sys.exit("SenseJudge needs Python 3.11 or newer.") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt \
		|| echo "uv is not to be had: plain pip it is."

.venv/.base: .venv/bin/python requirements/base.txt
	@echo "Installing what the application needs ..."
	@$(call install,base)
	@touch .venv/.base

.venv/.dev: .venv/bin/python requirements/dev.txt
	@echo "Installing what the tests need ..."
	@$(call install,dev)
	@touch .venv/.dev .venv/.base

install = if $(PY) -c 'import uv' 2>/dev/null; \
	then $(PY) -m uv pip install --quiet --compile-bytecode --python $(PY) --require-hashes --no-build -r requirements/$(1).txt; \
	else $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r requirements/$(1).txt; fi
