//! Generates the messages and services of api/rpclab/v1.

const SERVICES: [&str; 5] = ["greeter", "fibonacci", "counter", "chain", "order"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const API: &str = "../../api";
    let files = SERVICES.map(|name| format!("rpclab/v1/{name}.proto"));
    for file in &files {
        println!("cargo:rerun-if-changed={API}/{file}");
    }
    tonic_prost_build::configure()
        .build_client(false)
        // REST uses the same messages as gRPC.
        .message_attribute(".", "#[derive(serde::Serialize, serde::Deserialize)]")
        .message_attribute(".", "#[serde(default, deny_unknown_fields)]")
        .field_attribute(
            "articles",
            "#[serde(deserialize_with = \"crate::object::many\")]",
        )
        .compile_fds(protox::compile(files, [API])?)?;
    Ok(())
}
