"""The metrics of study 1."""

import threading

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

disable_created_metrics()


class Meters:
    """Counts calls from one reset to the next."""

    def __init__(self, mode: str):
        self.mode = mode
        self.lock = threading.Lock()
        self.series: dict[tuple[str, str], Counter] = {}
        self.reset()

    def reset(self) -> None:
        """Set every counter to 0. The servers known so far stay, because Prometheus' rate()
        sees only what grows in a series that is there."""
        with self.lock:
            self.registry = CollectorRegistry()
            ProcessCollector(registry=self.registry)
            PlatformCollector(registry=self.registry)
            self.requests = Counter(
                "grpc_requests",
                "Calls answered, by who answered them.",
                ["method", "server_name", "mode"],
                registry=self.registry,
            )
            self.series = {key: self.requests.labels(*key, self.mode) for key in self.series}

    def count(self, method: str, server: str) -> None:
        """One call more that was answered."""
        counter = self.series.get((method, server))
        if counter is None:
            with self.lock:
                counter = self.requests.labels(method, server, self.mode)
                self.series[method, server] = counter
        counter.inc()

    def text(self) -> tuple[str, bytes]:
        return CONTENT_TYPE_LATEST, generate_latest(self.registry)
