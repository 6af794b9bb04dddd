//! Makes the messages and the service of api/rpclab/v1/greeter.proto.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const API: &str = "../../api";
    println!("cargo:rerun-if-changed={API}/rpclab/v1/greeter.proto");
    let files = protox::compile(["rpclab/v1/greeter.proto"], [API])?;
    // What it does not serve, such as streams, is answered with UNIMPLEMENTED.
    tonic_prost_build::configure().build_client(false).generate_default_stubs(true).compile_fds(files)?;
    Ok(())
}
