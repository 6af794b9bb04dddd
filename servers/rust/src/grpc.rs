//! The workloads over gRPC, with tonic.

use http::HeaderMap;
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use tokio_stream::StreamExt;
use tonic::{
    Request, Response, Status, Streaming, async_trait,
    body::Body,
    codec::CompressionEncoding::Gzip,
    codegen::BoxStream,
    metadata::MetadataMap,
    transport::{Error, Server, server::TcpIncoming},
};
use tonic_health::{
    pb::health_server::HealthServer,
    server::{HealthReporter, HealthService},
};
use tower::util::{MapRequestLayer, MapResponseLayer};

use crate::{
    backend::Backend,
    v1::{
        self,
        chain_server::{Chain, ChainServer},
        counter_server::{Counter, CounterServer},
        fibonacci_server::{Fibonacci, FibonacciServer},
        greeter_server::{Greeter, GreeterServer},
        order_service_server::{OrderService, OrderServiceServer},
    },
};

type GrpcResult<A> = Result<Response<A>, Status>;

/// Serves until shutdown; then sends GOAWAY, and returns when all calls are answered.
pub async fn serve(
    backend: &'static Backend,
    health: HealthReporter,
    listener: TcpListener,
    shutdown: impl Future<Output = ()>,
) -> Result<(), Error> {
    // tonic sends the metadata of a successful response as headers, so the identity is added to
    // the trailers in the body. A call that failed at once has its trailers in the header block.
    let identify = MapResponseLayer::new(move |mut response: http::Response<Body>| {
        if response.headers().contains_key("grpc-status") {
            backend.identify(response.headers_mut());
        }
        response.map(|body| {
            body.map_frame(move |mut frame| {
                if let Some(trailers) = frame.trailers_mut() {
                    backend.identify(trailers);
                }
                frame
            })
        })
    });
    // As grpc-go does, compress the responses to compressed requests only. tonic would compress those of
    // all clients that accept it.
    let compress = MapRequestLayer::new(|mut request: http::Request<Body>| {
        if request
            .headers()
            .get("grpc-encoding")
            .is_none_or(|encoding| encoding != "gzip")
        {
            request.headers_mut().remove("grpc-accept-encoding");
        }
        request
    });
    Server::builder()
        .layer(identify)
        .layer(compress)
        .add_service(HealthServer::new(HealthService::from_health_reporter(
            health,
        )))
        .add_service(
            GreeterServer::new(backend)
                .accept_compressed(Gzip)
                .send_compressed(Gzip),
        )
        .add_service(
            FibonacciServer::new(backend)
                .accept_compressed(Gzip)
                .send_compressed(Gzip),
        )
        .add_service(
            CounterServer::new(backend)
                .accept_compressed(Gzip)
                .send_compressed(Gzip),
        )
        .add_service(
            ChainServer::new(backend)
                .accept_compressed(Gzip)
                .send_compressed(Gzip),
        )
        .add_service(
            OrderServiceServer::new(backend)
                .accept_compressed(Gzip)
                .send_compressed(Gzip),
        )
        .serve_with_incoming_shutdown(
            TcpIncoming::from(listener).with_nodelay(Some(true)),
            shutdown,
        )
        .await
}

#[async_trait]
impl Greeter for &'static Backend {
    type GreetingsStream = BoxStream<v1::HelloReply>;

    async fn say_hello(&self, request: Request<v1::HelloRequest>) -> GrpcResult<v1::HelloReply> {
        self.call(self.greet(request.into_inner()))
            .await
            .map(Response::new)
    }

    async fn greetings(
        &self,
        requests: Request<Streaming<v1::HelloRequest>>,
    ) -> GrpcResult<Self::GreetingsStream> {
        Ok(respond_to_stream(
            self,
            requests.into_inner(),
            Backend::greet,
        ))
    }
}

#[async_trait]
impl Fibonacci for &'static Backend {
    async fn compute(
        &self,
        request: Request<v1::FibonacciRequest>,
    ) -> GrpcResult<v1::FibonacciReply> {
        self.call(self.fibonacci(request.into_inner()))
            .await
            .map(Response::new)
    }
}

#[async_trait]
impl Counter for &'static Backend {
    async fn increment(
        &self,
        request: Request<v1::IncrementRequest>,
    ) -> GrpcResult<v1::IncrementReply> {
        self.call(Backend::increment(self, request.into_inner()))
            .await
            .map(Response::new)
    }
}

#[async_trait]
impl Chain for &'static Backend {
    type IncreasesStream = BoxStream<v1::Number>;

    async fn increase(&self, request: Request<v1::Number>) -> GrpcResult<v1::Number> {
        self.call(Backend::increase(self, request.into_inner()))
            .await
            .map(Response::new)
    }

    async fn increases(
        &self,
        requests: Request<Streaming<v1::Number>>,
    ) -> GrpcResult<Self::IncreasesStream> {
        Ok(respond_to_stream(
            self,
            requests.into_inner(),
            Backend::increase,
        ))
    }
}

#[async_trait]
impl OrderService for &'static Backend {
    async fn place_order(&self, request: Request<v1::Order>) -> GrpcResult<v1::OrderReply> {
        self.call(Backend::place_order(self, request.into_inner()))
            .await
            .map(Response::new)
    }
}

/// Answers each message of a stream as a call, before it reads the next. The header has the
/// identity too, because the trailer comes after the messages.
fn respond_to_stream<Q: Send + 'static, A: Send + 'static, W>(
    backend: &'static Backend,
    requests: Streaming<Q>,
    work: impl Fn(&'static Backend, Q) -> W + Copy + Send + 'static,
) -> Response<BoxStream<A>>
where
    W: Future<Output = Result<A, Status>> + Send + 'static,
{
    let responses =
        requests.then(move |request| async move { backend.call(work(backend, request?)).await });
    let mut header = HeaderMap::new();
    backend.identify(&mut header);
    let mut response: Response<BoxStream<A>> = Response::new(Box::pin(responses));
    *response.metadata_mut() = MetadataMap::from_headers(header);
    response
}
