package rpclab;

/** Starts a server of each model and ends it: what the JVM records of this starts them faster. */
final class Rehearsal {
  public static void main(String[] args) {
    for (Model model : Model.values()) {
      Flags flags = Flags.parse("--model", model.toString(), "--listen", "127.0.0.1:0");
      Calls calls = new Calls(0);
      Health health = new Health();
      Departure departure = new Departure(flags, calls, health, System.out);
      Main.application(flags, calls, health, departure).run().close();
    }
    System.exit(0);
  }
}
