package rpclab.rest;

import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

/** What no property of Spring says of JSON: a text is a text, and never a number. */
class Json {
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
