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

/// What a request may have, in bytes: an order of the most articles.
const LARGEST_BODY: usize = 16 << 20;

/// Serves until it is told to go; then it closes connections with their last answer, and
/// returns when all calls are answered.
pub async fn serve(
    backend: &'static Backend,
    health: HealthReporter,
    listener: TcpListener,
    told_to_go: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let paths = Router::new()
        .route("/greet", taking(backend, Backend::greet))
        .route("/fibonacci", taking(backend, Backend::fibonacci))
        .route("/increase", taking(backend, Backend::increase))
        .route("/orders", taking(backend, Backend::place_order))
        .route("/healthz", get(|| serving(health)))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .layer(MapResponseLayer::new(move |mut answer: Response| {
            backend.sign(answer.headers_mut());
            answer
        }));
    // Else an answer could wait for the acknowledgement of the one before.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    axum::serve(listener, paths)
        .with_graceful_shutdown(told_to_go)
        .await
}

/// Takes a message as JSON and answers with another.
fn taking<Q, A, W>(
    backend: &'static Backend,
    work: impl Fn(&'static Backend, Q) -> W + Copy + Send + Sync + 'static,
) -> MethodRouter
where
    Q: DeserializeOwned + Send + 'static,
    A: Serialize + Send + 'static,
    W: Future<Output = Result<A, Status>> + Send + 'static,
{
    post(move |body: Result<Bytes, BytesRejection>| async move {
        let message = read(body).map_err(Refused)?;
        let answer = backend.call(work(backend, message)).await;
        answer.map(Json).map_err(Refused)
    })
}

/// Reads the message of a request.
fn read<Q: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<Q, Status> {
    let body = body.map_err(|why| Status::invalid_argument(why.body_text()))?;
    let Object(message) = serde_json::from_slice(&body).map_err(|why| {
        Status::invalid_argument(format!(
            "the body is not the JSON that this path takes: {why}"
        ))
    })?;
    Ok(message)
}

async fn serving(health: HealthReporter) -> (StatusCode, &'static str) {
    let health = HealthService::from_health_reporter(health);
    let answer = health
        .check(Request::new(HealthCheckRequest::default()))
        .await;
    match answer.map(|answer| answer.into_inner().status()) {
        Ok(ServingStatus::Serving) => (StatusCode::OK, "SERVING\n"),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "NOT_SERVING\n"),
    }
}

/// A call that is answered with what went wrong.
struct Refused(Status);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Refused(why) = self;
        let status = match why.code() {
            Code::InvalidArgument | Code::OutOfRange => StatusCode::BAD_REQUEST,
            Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        (status, Json(json!({ "error": why.message() }))).into_response()
    }
}
