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
import rpclab.rest.Messages.Refusal;
import tools.jackson.core.JacksonException;

/** Answers what went wrong, on both stacks: with a reason, and without our insides. */
@RestControllerAdvice
class Refusals {
  private static final Logger LOG = LoggerFactory.getLogger(Refusals.class);

  /** What a workload refused, or an ailment. */
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

  /** What Spring refused. */
  @ExceptionHandler
  ResponseEntity<Refusal> refuse(Exception e) {
    if (NestedExceptionUtils.getRootCause(e) instanceof JacksonException json) {
      return refuse(
          HttpStatus.BAD_REQUEST,
          "the body is not the JSON that is taken: " + json.getOriginalMessage());
    }
    if (e instanceof HttpMessageNotReadableException) {
      return refuse(HttpStatus.BAD_REQUEST, "the body is not the JSON that is taken: it is empty");
    }
    if (e instanceof ErrorResponse known) {
      return refuse(known.getStatusCode(), known.getBody().getDetail());
    }
    LOG.error("a call failed", e);
    return refuse(HttpStatus.INTERNAL_SERVER_ERROR, "the server failed");
  }

  private static ResponseEntity<Refusal> refuse(HttpStatusCode status, String why) {
    return ResponseEntity.status(status).body(new Refusal(why));
  }
}
