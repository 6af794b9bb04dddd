"""The metrics of the published balancing study."""

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


class Metrics:
    """Counts calls since the last reset."""

    def __init__(self, mode: str):
        self.mode = mode
        self.lock = threading.Lock()
        self.series: dict[tuple[str, str], Counter] = {}
        self.reset()

    def reset(self) -> None:
        """Set every counter to 0. The series stay, because Prometheus' rate() needs an existing
        series."""
        with self.lock:
            self.registry = CollectorRegistry()
            ProcessCollector(registry=self.registry)
            PlatformCollector(registry=self.registry)
            self.requests = Counter(
                "grpc_requests",
                "Calls answered, by method and server.",
                ["method", "server_name", "mode"],
                registry=self.registry,
            )
            self.series = {key: self.requests.labels(*key, self.mode) for key in self.series}

    def count(self, method: str, server: str) -> None:
        """Count an answered call."""
        counter = self.series.get((method, server))
        if counter is None:
            with self.lock:
                counter = self.requests.labels(method, server, self.mode)
                self.series[method, server] = counter
        counter.inc()

    def text(self) -> tuple[str, bytes]:
        return CONTENT_TYPE_LATEST, generate_latest(self.registry)
