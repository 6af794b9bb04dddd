package rpclab;

/**
 * What is wrong with a server, on purpose; 0 is nothing of the kind.
 *
 * @param slow nanoseconds that are added to every answer
 * @param times an answer takes this many times as long; under 1: as long as ever
 * @param code of gRPC, with which every call is answered at once
 * @param flap nanoseconds after which its health turns, not serving first
 */
record Ailment(long slow, double times, int code, long flap) {
  static final Ailment NONE = new Ailment(0, 0, 0, 0);

  /** How long an answer that took so long has to wait yet, in nanoseconds. */
  long more(long took) {
    return slow + (long) (Math.max(times - 1, 0) * took);
  }
}
