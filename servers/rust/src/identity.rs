//! The trailer rpclab-backend. tonic sends the metadata of a good answer as headers,
//! so trailers are added below it, to the body.

use http::{HeaderValue, Response, header::InvalidHeaderValue};
use http_body_util::BodyExt;
use tonic::body::Body;
use tower::util::MapResponseLayer;

const TRAILER: &str = "rpclab-backend";

/// Adds the identity to the trailers of every answer. An identity that cannot stand
/// in a header is an error.
pub fn layer(
    id: &str,
) -> Result<
    MapResponseLayer<impl Fn(Response<Body>) -> Response<Body> + Clone + Send + Sync + 'static>,
    InvalidHeaderValue,
> {
    let id = HeaderValue::from_str(id)?;
    Ok(MapResponseLayer::new(move |mut answer: Response<Body>| {
        // A call that failed before its message has its trailers in the header block.
        if answer.headers().contains_key("grpc-status") {
            answer.headers_mut().insert(TRAILER, id.clone());
            return answer;
        }
        let id = id.clone();
        answer.map(|body| {
            Body::new(body.map_frame(move |mut frame| {
                if let Some(trailers) = frame.trailers_mut() {
                    trailers.insert(TRAILER, id.clone());
                }
                frame
            }))
        })
    }))
}
