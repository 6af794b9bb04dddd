//! Makes the messages and the service of api/rpclab/v1/greeter.proto.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const API: &str = "../../api";
    println!("cargo:rerun-if-changed={API}/rpclab/v1/greeter.proto");
    let files = protox::compile(["rpclab/v1/greeter.proto"], [API])?;
    tonic_prost_build::configure().build_client(false).compile_fds(files)?;
    Ok(())
}
