package rpclab;

import java.io.PrintStream;
import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/** The server under test, in Java with Spring Boot. servers/CONTRACT.md says what it owes. */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
class Main {
  public static void main(String[] args) {
    // Standard output is for the answers to a supervisor alone, whatever a library prints.
    PrintStream answers = System.out;
    System.setOut(System.err);

    Flags flags = Flags.parse(args);
    Calls calls = new Calls(flags.model.room(flags));
    Health health = new Health();
    if (flags.supervised) {
      Thread supervised = new Thread(new Supervisor(calls, health, answers), "supervisor");
      supervised.setDaemon(true);
      supervised.start();
    }
    SpringApplication application = application(flags, calls, health);
    // The hook stands before the port opens: who can connect can also stop it.
    application.addInitializers(
        context ->
            Runtime.getRuntime()
                .addShutdownHook(
                    new Thread(() -> Departure.of(context, flags, calls, health, answers))));
    application.run();
  }

  static SpringApplication application(Flags flags, Calls calls, Health health) {
    SpringApplication application = new SpringApplication(Main.class, flags.model.part);
    application.setWebApplicationType(flags.model.web);
    application.setDefaultProperties(flags.model.properties(flags));
    application.setBannerMode(Banner.Mode.OFF);
    application.setLogStartupInfo(false);
    application.setRegisterShutdownHook(false); // Departure is one
    application.addInitializers(
        context -> {
          context.getBeanFactory().registerSingleton("flags", flags);
          context.getBeanFactory().registerSingleton("calls", calls);
          context.getBeanFactory().registerSingleton("health", health);
        });
    return application;
  }
}
