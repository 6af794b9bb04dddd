package rpclab.rest;

import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.context.annotation.Bean;
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
}
