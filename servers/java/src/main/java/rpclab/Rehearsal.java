package rpclab;

/** Starts a server of each model and ends it: what the JVM records of this starts them faster. */
final class Rehearsal {
  public static void main(String[] args) {
    for (Model model : Model.values()) {
      Flags flags = Flags.parse("--model", model.toString(), "--listen", "127.0.0.1:0");
      Main.application(flags, new Calls(0), new Health()).run().close();
    }
    System.exit(0);
  }
}
