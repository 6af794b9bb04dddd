package rpclab.rest;

import com.fasterxml.jackson.annotation.JsonAlias;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import rpclab.Flags;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

/** Rejects numbers and booleans where JSON must have a string; no Spring property does. */
class JsonConfig {
  static final String IDENTITY = "rpclab-backend"; // a header

  @Bean
  JsonMapperBuilderCustomizer strict() {
    return json ->
        json.withCoercionConfig(
            LogicalType.Textual,
            to -> {
              to.setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail);
              to.setCoercion(CoercionInputShape.Integer, CoercionAction.Fail);
              to.setCoercion(CoercionInputShape.Float, CoercionAction.Fail);
            });
  }

  @Bean
  JsonMapperBuilderCustomizer published(Flags flags) {
    return json -> {
      if (flags.published) {
        json.addMixIn(Messages.Order.class, PublishedOrder.class);
        json.addMixIn(Messages.Article.class, PublishedArticle.class);
      }
    };
  }

  /** An order of the published ladder study. Of its fields, servers need the articles alone. */
  @JsonIgnoreProperties({"customerId", "createdAt", "paymentMethod"})
  private abstract static class PublishedOrder {}

  private abstract static class PublishedArticle {
    @JsonAlias("unitPrice")
    abstract double unitPrice();
  }
}
