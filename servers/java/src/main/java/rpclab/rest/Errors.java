package rpclab.rest;

import io.grpc.StatusRuntimeException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseEntity;
import org.springframework.http.converter.HttpMessageNotReadableException;
import org.springframework.web.ErrorResponse;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.util.DisconnectedClientHelper;
import rpclab.rest.Messages.Refusal;
import tools.jackson.core.JacksonException;

/** Maps exceptions to responses on both stacks, with a reason and without a stack trace. */
@RestControllerAdvice
class Errors {
  private static final Logger LOG = LoggerFactory.getLogger(Errors.class);

  /** A workload rejected the request, or a fault is injected. */
  @ExceptionHandler
  ResponseEntity<Refusal> refuse(StatusRuntimeException e) {
    HttpStatus status =
        switch (e.getStatus().getCode()) {
          case INVALID_ARGUMENT, OUT_OF_RANGE -> HttpStatus.BAD_REQUEST;
          case UNAVAILABLE -> HttpStatus.SERVICE_UNAVAILABLE;
          default -> HttpStatus.INTERNAL_SERVER_ERROR;
        };
    return refuse(status, e.getStatus().getDescription());
  }

  /** Spring rejected the request. */
  @ExceptionHandler
  ResponseEntity<Refusal> refuse(Exception e) {
    if (DisconnectedClientHelper.isClientDisconnectedException(e)) {
      return null; // the client is gone
    }
    for (Throwable cause = e; cause != null; cause = cause.getCause()) {
      if (cause instanceof JacksonException json) {
        Throwable root = NestedExceptionUtils.getMostSpecificCause(json);
        return invalidBody(root == json ? json.getOriginalMessage() : root.getMessage());
      }
    }
    if (e instanceof HttpMessageNotReadableException) {
      return invalidBody("the body is empty");
    }
    if (e instanceof ErrorResponse known) {
      return refuse(known.getStatusCode(), known.getBody().getDetail());
    }
    LOG.error("a call failed", e);
    return refuse(HttpStatus.INTERNAL_SERVER_ERROR, "the server failed");
  }

  private static ResponseEntity<Refusal> invalidBody(String why) {
    return refuse(HttpStatus.BAD_REQUEST, "the body is not valid JSON for this path: " + why);
  }

  private static ResponseEntity<Refusal> refuse(HttpStatusCode status, String why) {
    return ResponseEntity.status(status).body(new Refusal(why));
  }
}
