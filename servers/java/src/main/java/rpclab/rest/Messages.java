package rpclab.rest;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import rpclab.Flags;

/** The messages of api/rpclab/v1 as JSON. A missing field is 0 or empty. */
final class Messages {
  private Messages() {}

  record HelloRequest(String name) {
    HelloRequest {
      name = name == null ? "" : name;
    }
  }

  record HelloReply(String message, String backend) {}

  record FibonacciRequest(long n) {
    FibonacciRequest {
      unsigned("n", n);
    }
  }

  record FibonacciReply(String value, String serverName) {}

  record Number(long value) {
    Number {
      unsigned("value", value);
    }
  }

  record Article(String id, int quantity, double unitPrice) {}

  record Order(List<Article> articles) {
    Order {
      articles = articles == null ? List.of() : articles;
    }

    /** The quantity of an article; 0 for null. */
    static int quantity(Article article) {
      return article == null ? 0 : article.quantity;
    }
  }

  /** The published ladder study names the identifier value. */
  record OrderReply(String id, @JsonInclude(JsonInclude.Include.NON_NULL) String value) {
    OrderReply(String id, Flags flags) {
      this(id, flags.published ? id : null);
    }
  }

  record Refusal(String error) {}

  private static void unsigned(String name, long value) {
    if (value < 0 || value > 0xffff_ffffL) {
      throw new IllegalArgumentException(
          name + " is " + value + ", but must be 0 to 4294967295");
    }
  }
}
