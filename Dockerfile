# The controller, alone in its image: no shell, no root, nothing written. docker build --build-arg VERSION=v1.2.3 .
# Images are pinned by digest; go.mod's toolchain line brings the patch release of Go, checked against sum.golang.org.
FROM --platform=$BUILDPLATFORM golang:1.26@sha256:3aff6657219a4d9c14e27fb1d8976c49c29fddb70ba835014f477e1c70636647 AS build
ENV GOTOOLCHAIN=auto
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api api
COPY cmd/sluice-controller cmd/sluice-controller
COPY internal internal
ARG TARGETOS TARGETARCH VERSION=
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags "-s -w -X github.com/sluice-delivery/sluice/internal/buildinfo.version=$VERSION" \
    -o /sluice-controller ./cmd/sluice-controller

FROM gcr.io/distroless/static:nonroot@sha256:1c2c046bc09ed40fad370b599a0b1ae7987f55b01e247cf27a7c27cd97e5bbc7
COPY --from=build /sluice-controller /sluice-controller
USER 65532:65532
EXPOSE 8080 8090
ENTRYPOINT ["/sluice-controller"]
