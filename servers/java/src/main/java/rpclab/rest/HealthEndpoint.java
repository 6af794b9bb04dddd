package rpclab.rest;

import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;
import rpclab.Health;

@RestController
class HealthEndpoint {
  private final Health health;

  HealthEndpoint(Health health) {
    this.health = health;
  }

  @GetMapping("/healthz")
  ResponseEntity<String> check() {
    return health.serving()
        ? ResponseEntity.ok("SERVING\n")
        : ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE).body("NOT_SERVING\n");
  }
}
