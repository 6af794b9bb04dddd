package rpclab;

import java.io.PrintStream;
import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/** The server under test, in Java with Spring Boot. It implements servers/CONTRACT.md. */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
class Main {
  public static void main(String[] args) {
    // Libraries may print, but standard output is for responses to the supervisor only.
    PrintStream responses = System.out;
    System.setOut(System.err);

    Flags flags = Flags.parse(args);
    Calls calls = new Calls(flags.model.workers(flags));
    Health health = new Health();
    Shutdown shutdown = new Shutdown(flags, calls, health, responses);
    if (flags.supervised) {
      Thread supervised = new Thread(new Supervisor(calls, health, responses), "supervisor");
      supervised.setDaemon(true);
      supervised.start();
    }
    SpringApplication application = application(flags, calls, health, shutdown);
    // Register the hook before the port opens, so that a SIGTERM always drains.
    application.addInitializers(
        context -> Runtime.getRuntime().addShutdownHook(new Thread(() -> shutdown.of(context))));
    application.run();
  }

  static SpringApplication application(Flags flags, Object... parts) {
    SpringApplication application = new SpringApplication(Main.class, flags.model.parts);
    application.setWebApplicationType(flags.model.web);
    application.setDefaultProperties(flags.model.properties(flags));
    application.setBannerMode(Banner.Mode.OFF);
    application.setLogStartupInfo(false);
    application.setRegisterShutdownHook(false); // main registers Shutdown instead
    application.addInitializers(
        context -> {
          context.getBeanFactory().registerSingleton("flags", flags);
          for (Object part : parts) {
            context.getBeanFactory().registerSingleton(part.getClass().getSimpleName(), part);
          }
        });
    return application;
  }
}
