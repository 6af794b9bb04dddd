//! The workloads, the same over gRPC and REST.

use std::{mem, sync::atomic::Ordering::Relaxed, time::Duration};

use num_bigint::BigUint;
use tokio::task;
use tonic::Status;
use uuid::Uuid;

use crate::{
    backend::{Backend, wait},
    v1,
};

/// The largest n of Fibonacci.
const LARGEST_FIBONACCI: u32 = 100_000;

/// The largest number of articles in an order.
const LARGEST_ORDER: usize = 100_000;

impl Backend {
    /// Answers after the delay of `--delay`.
    pub async fn greet(&self, request: v1::HelloRequest) -> Result<v1::HelloReply, Status> {
        wait(self.delay).await;
        Ok(v1::HelloReply {
            message: format!("Hello, {}", request.name),
            backend: self.id.clone(),
        })
    }

    /// Computes the n-th number by additions.
    pub async fn fibonacci(
        &self,
        request: v1::FibonacciRequest,
    ) -> Result<v1::FibonacciReply, Status> {
        let n = request.n;
        if n > LARGEST_FIBONACCI {
            let why = format!("n is {n}; the largest is {LARGEST_FIBONACCI}");
            return Err(Status::invalid_argument(why));
        }
        let (mut a, mut b) = (BigUint::ZERO, BigUint::from(1u32));
        for i in 1..=n {
            a += &b;
            mem::swap(&mut a, &mut b);
            if i % 4096 == 0 {
                task::yield_now().await; // lets other calls run, and notices a cancellation
            }
        }
        Ok(v1::FibonacciReply {
            value: a.to_string(),
            server_name: self.id.clone(),
        })
    }

    /// Adds one to the backend's counter.
    pub async fn increment(&self, _: v1::IncrementRequest) -> Result<v1::IncrementReply, Status> {
        Ok(v1::IncrementReply {
            number: self.counter.fetch_add(1, Relaxed) + 1,
            server_name: self.id.clone(),
        })
    }

    /// The next number.
    pub async fn increase(&self, number: v1::Number) -> Result<v1::Number, Status> {
        match number.value.checked_add(1) {
            Some(value) => Ok(v1::Number { value }),
            None => {
                let why = format!("there is no number after {}", number.value);
                Err(Status::out_of_range(why))
            }
        }
    }

    /// Accepts an order after the delay and a random additional wait up to the spread.
    pub async fn place_order(&self, order: v1::Order) -> Result<v1::OrderReply, Status> {
        check(order)?; // frees its memory before the wait
        let spread = rand::random_range(Duration::ZERO..=self.spread);
        wait(self.delay.saturating_add(spread)).await;
        Ok(v1::OrderReply {
            id: Uuid::new_v4().to_string(),
        })
    }
}

/// Rejects an invalid order.
fn check(order: v1::Order) -> Result<(), Status> {
    let articles = order.articles;
    let why = if articles.len() > LARGEST_ORDER {
        format!(
            "the order has {} articles; the limit is {LARGEST_ORDER}",
            articles.len()
        )
    } else if let Some(i) = articles.iter().position(|article| article.quantity < 1) {
        let v1::Article { id, quantity, .. } = &articles[i];
        format!("article {i} ({id:?}): the quantity is {quantity}, but must be at least 1")
    } else {
        return Ok(());
    };
    Err(Status::invalid_argument(why))
}
