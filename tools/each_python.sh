#!/bin/sh
# Runs "$@ PY=<interpreter>" for each Python 3.11, 3.12 and 3.13 found, on PATH or made by pyenv.
set -u
failed=""
found=""
for version in 3.11 3.12 3.13; do
    for candidate in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version".*/bin/"python$version"; do
        "$candidate" -c '' 2>/dev/null || continue
        found="$found $version"
        echo "==> Python $version: $candidate"
        "$@" PY="$candidate" VENV=".venv-$version" || failed="$failed $version"
        break
    done
done
[ -n "$found" ] || { echo "no Python 3.11, 3.12 or 3.13 found" >&2; exit 1; }
echo "==> tested with:$found; failed with:${failed:- none}"
[ -z "$failed" ]
