package rpclab;

/** Starts and stops a server of each model, so that the JVM records an AOT cache. */
final class AotTraining {
  public static void main(String[] args) {
    for (Model model : Model.values()) {
      Flags flags = Flags.parse("--model", model.toString(), "--listen", "127.0.0.1:0");
      Calls calls = new Calls(0);
      Health health = new Health();
      Shutdown shutdown = new Shutdown(flags, calls, health, System.out);
      Main.application(flags, calls, health, shutdown).run().close();
    }
    System.exit(0);
  }
}
