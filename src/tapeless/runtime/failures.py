"""From a failed check of a kernel to the exception that plain Python would raise."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import NoReturn

from tapeless.core.exceptions import exception_named
from tapeless.errors import report
from tapeless.runtime.abi import Site
from tapeless.runtime.layout import ARG_COUNT
from tapeless.runtime.slots import word_scalar


def error_of(sites: tuple[Site, ...], words: tuple[int, ...]) -> Exception:
    """The exception for the context's words `site, args`."""
    site = sites[words[0] - 1]
    args = [word_scalar(t, word) for t, word in zip(site.dtypes, words[1:], strict=False)]
    kind = exception_named(site.error) or RuntimeError
    message = site.message.format(*args)
    if kind is not KeyError:
        return kind(report(message, site.loc))
    error = KeyError(message)  # which shows its message quoted, on one line
    error.add_note(report("", site.loc).lstrip("\n"))
    return error


def raiser(sites: tuple[Site, ...]) -> Callable[[bytes], NoReturn]:
    """A function that native code calls with those words as bytes."""

    def fail(words: bytes) -> NoReturn:
        raise error_of(sites, struct.unpack(f"<{1 + ARG_COUNT}q", words))

    return fail
