package rpclab;

import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.math.BigInteger;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.ToIntFunction;

/** The workloads, the same in every model. Rejected requests have a gRPC status. */
public final class Workloads {
  private static final int LARGEST_FIBONACCI = 100_000;
  private static final int LARGEST_ORDER = 100_000; // articles

  private Workloads() {}

  public static String greeting(String name) {
    return "Hello, " + name;
  }

  /** The n-th number in decimal. The CPU time grows with n. */
  public static String fibonacci(long n) {
    if (n > LARGEST_FIBONACCI) {
      throw invalid("n is %d; the largest is %d", n, LARGEST_FIBONACCI);
    }
    BigInteger a = BigInteger.ZERO;
    BigInteger b = BigInteger.ONE;
    for (long i = 0; i < n; i++) {
      BigInteger sum = a.add(b);
      a = b;
      b = sum;
    }
    return a.toString();
  }

  /** The next unsigned 32-bit number. */
  public static long increase(long n) {
    if (n == 0xffff_ffffL) {
      throw Status.OUT_OF_RANGE
          .withDescription("there is no number after " + n)
          .asRuntimeException();
    }
    return n + 1;
  }

  /** The identifier of a new order. */
  public static <T> String order(List<T> articles, ToIntFunction<T> quantity) {
    if (articles.size() > LARGEST_ORDER) {
      throw invalid("the order has %d articles; the limit is %d", articles.size(), LARGEST_ORDER);
    }
    for (int i = 0; i < articles.size(); i++) {
      int ordered = quantity.applyAsInt(articles.get(i));
      if (ordered < 1) {
        throw invalid("article %d: the quantity is %d, but must be at least 1", i, ordered);
      }
    }
    return UUID.randomUUID().toString();
  }

  /** The delay of one order in nanoseconds, which is random. */
  public static long orderNanos(Flags flags) {
    return flags.delay.toNanos() + ThreadLocalRandom.current().nextLong(flags.spread.toNanos() + 1);
  }

  private static StatusRuntimeException invalid(String format, Object... args) {
    return Status.INVALID_ARGUMENT
        .withDescription(String.format(format, args))
        .asRuntimeException();
  }
}
