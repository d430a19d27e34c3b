# The two commands a newcomer needs are `make run` and `make test`.

CARGO ?= cargo

.PHONY: run test check bench fmt others

run: ## Start the demo: a sample API, its functions, and an MCP server on 127.0.0.1:8080
	$(CARGO) run --quiet -p toolscript -- demo

test: check others ## Everything CI runs
	$(CARGO) fetch --quiet --locked
	$(CARGO) test --workspace --quiet

check: ## Format and lints
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --log-level error check licenses bans sources; \
	 else echo "cargo-deny is not installed: licences not checked (cargo install cargo-deny)"; fi

others: ## What others wrote and the tests talk with: MCP clients, MCP servers, the conformance suite, schemathesis
	tests/clients/setup
	tests/servers/setup
	tests/conformance/setup
	tests/schemathesis/setup

bench: ## Figures, not tests: catalog, runtime, MCP servers
	bench/run

fmt:
	$(CARGO) fmt --all
