# The controller, alone in its image: no shell, no root, nothing written. docker build --build-arg VERSION=v1.2.3 .
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd/sluice-controller cmd/sluice-controller
COPY internal internal
ARG TARGETOS TARGETARCH VERSION=
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath \
    -ldflags "-s -w -X github.com/sluice-delivery/sluice/internal/buildinfo.version=$VERSION" \
    -o /sluice-controller ./cmd/sluice-controller

FROM gcr.io/distroless/static:nonroot
COPY --from=build /sluice-controller /sluice-controller
USER 65532:65532
EXPOSE 8080 8090
ENTRYPOINT ["/sluice-controller"]
