"""The parameters of a request, with their bounds."""

import difflib
from collections.abc import Callable
from urllib.parse import parse_qsl

from rpclab_servers.gateway.response import Failure
from rpclab_servers.workloads import LARGEST_FIBONACCI

MAX_ITERATIONS = 10_000  # calls of a request, as in the published study
MAX_OUTPUT = 32 << 20  # bytes of values in a response

BOOLEANS = {"true": True, "1": True, "t": True, "false": False, "0": False, "f": False}


class Query:
    """Reads parameters. Raises Failure for an invalid or unknown parameter."""

    def __init__(self, text: str):
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict")
        except ValueError as e:
            raise refused(f"the query {text!r} cannot be read: {e}") from e
        if unescaped(text):
            raise refused(
                f"the query {text!r} cannot be read: two hexadecimal digits must follow a %"
            )
        self.values: dict[str, list[str]] = {}
        for name, value in pairs:
            self.values.setdefault(name, []).append(value)
        self.known: set[str] = set()

    def text(self, name: str) -> str | None:
        self.known.add(name)
        given = self.values.get(name, [])
        if len(given) > 1:
            raise refused(f"{name} is given {len(given)} times")
        return given[0] if given else None

    def number(self, name: str, fallback: int | None, least: int, most: int) -> int:
        text = self.text(name)
        if text is None:
            if fallback is None:
                raise refused(f"{name} is missing: it must be a number from {least} to {most}")
            return fallback
        n = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
        if not least <= n <= most:
            raise refused(f"{name}={text}: must be a number from {least} to {most}")
        return n

    def iterations(self) -> int:
        """The published study used both names."""
        if "iterations" in self.values and "iteration" in self.values:
            raise refused("iterations and iteration are the same parameter: use one of them")
        other = self.number("iteration", 1, 1, MAX_ITERATIONS)
        return self.number("iterations", other, 1, MAX_ITERATIONS)

    def boolean(self, name: str) -> bool:
        text = self.text(name) or "false"
        if text.lower() not in BOOLEANS:
            raise refused(f"{name}={text}: must be true or false")
        return BOOLEANS[text.lower()]

    def end(self) -> None:
        """Reject unknown parameters. Call it after all others were read."""
        for name in sorted(self.values):
            if name not in self.known:
                near = difflib.get_close_matches(name, self.known, 1)
                hint = f'; did you mean "{near[0]}"?' if near else ""
                raise refused(f"unknown parameter {name}{hint}")


def refused(why: str) -> Failure:
    return Failure(400, "INVALID_ARGUMENT", why)


def unescaped(text: str) -> bool:
    """Whether a % is not followed by two hexadecimal digits, which parse_qsl accepts."""
    parts = text.split("%")[1:]
    return any(len(p) < 2 or not all(c in "0123456789abcdefABCDEF" for c in p[:2]) for p in parts)


def numbers_of(
    query: Query, draw: Callable[[int, int], int]
) -> tuple[int, bool, Callable[[], int]]:
    """The parameters of /fibonacci/random: iterations, output, and a function that draws a number."""
    iterations, output = query.iterations(), query.boolean("output")
    first = query.number("fibo_start", 800, 0, LARGEST_FIBONACCI)
    last = query.number("fibo_end", 1000, 0, LARGEST_FIBONACCI)
    if first > last:
        raise refused(
            f"fibo_start is {first} and fibo_end {last}: fibo_start must not be larger"
            " (without them, they are 800 and 1000)"
        )
    digits = iterations * (last // 4 + 1)  # a number has 0.209 digits for each n
    if output and digits > MAX_OUTPUT:
        raise refused(
            f"output=true would return up to {digits >> 20} MiB, and the limit is {MAX_OUTPUT >> 20}:"
            " request fewer iterations or a smaller fibo_end"
        )
    query.end()
    return iterations, output, lambda: draw(first, last)
