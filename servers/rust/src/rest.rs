//! The workloads over REST, with axum: HTTP/1.1, and HTTP/2 in clear text.

use std::io;

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, rejection::BytesRejection},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post},
    serve::ListenerExt,
};
use http::StatusCode;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use tokio::net::TcpListener;
use tonic::{Code, Request, Status};
use tonic_health::{
    pb::{HealthCheckRequest, health_check_response::ServingStatus, health_server::Health},
    server::{HealthReporter, HealthService},
};
use tower::util::MapResponseLayer;

use crate::{backend::Backend, object::Object};

/// The largest body in bytes: the largest order.
const LARGEST_BODY: usize = 16 << 20;

/// Serves until shutdown; then closes connections with their last response, and returns when
/// all calls are answered.
pub async fn serve(
    backend: &'static Backend,
    health: HealthReporter,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let paths = Router::new()
        .route("/greet", handler(backend, Backend::greet))
        .route("/fibonacci", handler(backend, Backend::fibonacci))
        .route("/increase", handler(backend, Backend::increase))
        .route("/orders", handler(backend, Backend::place_order))
        .route("/healthz", get(|| serving(health)))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(MapResponseLayer::new(move |mut response: Response| {
            backend.identify(response.headers_mut());
            response
        }));
    // Without TCP_NODELAY a response could wait for the acknowledgement of the last response.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    axum::serve(listener, paths)
        .with_graceful_shutdown(shutdown)
        .await
}

/// Handles a POST with a JSON message.
fn handler<Q, A, W>(
    backend: &'static Backend,
    work: impl Fn(&'static Backend, Q) -> W + Copy + Send + Sync + 'static,
) -> MethodRouter
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
    W: Future<Output = Result<A, Status>> + Send + 'static,
{
    post(move |body: Result<Bytes, BytesRejection>| async move {
        let message = read(body).map_err(Failed)?;
        let response = backend.call(work(backend, message)).await;
        response.map(Json).map_err(Failed)
    })
}

/// Decodes the message of a request.
fn read<Q: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<Q, Status> {
    let body = body.map_err(|why| Status::invalid_argument(why.body_text()))?;
    let Object(message) = serde_json::from_slice(&body).map_err(|why| {
        Status::invalid_argument(format!("the body is not valid JSON for this path: {why}"))
    })?;
    Ok(message)
}

async fn serving(health: HealthReporter) -> (StatusCode, &'static str) {
    let health = HealthService::from_health_reporter(health);
    let response = health
        .check(Request::new(HealthCheckRequest::default()))
        .await;
    match response.map(|response| response.into_inner().status()) {
        Ok(ServingStatus::Serving) => (StatusCode::OK, "SERVING\n"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "NOT_SERVING\n"),
    }
}

/// The response of a failed call.
struct Failed(Status);

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let Failed(why) = self;
        let status = match why.code() {
            Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
            Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(json!({ "error": why.message() }))).into_response()
    }
}
