.venv/bin/ruff check . --fix -q --output-format concise; .venv/bin/ruff format . -q; .venv/bin/mypy; .venv/bin/lint-imports 2>&1 | tail -12
