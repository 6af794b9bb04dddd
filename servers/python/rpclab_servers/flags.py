"""The flags of a server."""

import argparse
import ipaddress
import re
import socket

MODELS = ("grpc-sync", "grpc-aio", "flask", "starlette")

UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
PART = re.compile(r"(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def duration(text: str) -> float:
    """Seconds of a Go duration such as 1m0.5s."""
    if text == "0":
        return 0
    parts = PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration: use one such as 500ms or 1m0.5s")
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address: use HOST:PORT")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)


def add_listen(flags: argparse.ArgumentParser, port: int) -> None:
    flags.add_argument("--listen", type=address, default=("127.0.0.1", port), metavar="HOST:PORT")
    flags.add_argument("--public", action="store_true", help="serve clients of other machines")


def check_listen(flags: argparse.ArgumentParser, settings: argparse.Namespace) -> None:
    """Refuses an address that other machines can reach, unless --public allows it."""
    host, port = settings.listen
    if settings.public or settings.supervised or host == "localhost":
        return
    try:
        if ipaddress.ip_address(host).is_loopback:
            return
    except ValueError:
        pass  # the name of a host
    flags.error(
        f"--listen {host}:{port}: other machines could send requests: "
        "allow them with --public, or listen on 127.0.0.1"
    )


def workers(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of workers: use 0 or more")
    return int(text)


def parse() -> argparse.Namespace:
    flags = argparse.ArgumentParser(
        prog="rpclab_servers",
        description="Serves rpclab's workloads until SIGTERM; then it drains.",
        allow_abbrev=False,
    )
    add_listen(flags, 50051)
    flags.add_argument("--model", choices=MODELS, default=MODELS[0])
    flags.add_argument("--id", default=socket.gethostname(), help="identity in every response")
    flags.add_argument("--delay", type=duration, default=0, help="before greetings and orders")
    flags.add_argument("--spread", type=duration, default=0, help="random extra delay of orders")
    flags.add_argument("--workers", type=workers, default=0, help="0: the model's default")
    flags.add_argument(
        "--drain", type=duration, default=0, help="how long to accept calls after SIGTERM"
    )
    flags.add_argument("--supervised", action="store_true", help="read commands on standard input")
    settings = flags.parse_args()
    check_listen(flags, settings)
    return settings
