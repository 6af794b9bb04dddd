package rpclab;

import java.util.concurrent.ThreadLocalRandom;

/**
 * A fault that a supervisor injects. A field that is 0 has no effect.
 *
 * @param slow nanoseconds added to every response
 * @param times factor on the duration of a response; below 1: no effect
 * @param code gRPC status code that calls get at once
 * @param share probability that a call gets the code; 0: it always does
 * @param flap period in nanoseconds at which health changes, not serving first
 */
record Fault(long slow, double times, int code, double share, long flap) {
  static final Fault NONE = new Fault(0, 0, 0, 0, 0);

  /** Decides, for one call, whether it gets the code. */
  boolean fails() {
    return code != 0 && (share == 0 || ThreadLocalRandom.current().nextDouble() < share);
  }

  /** The delay to add to a response that took a time, both in nanoseconds. */
  long extraNanos(long took) {
    return slow + (long) (Math.max(times - 1, 0) * took);
  }
}
