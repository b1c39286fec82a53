// Package plane carries requests to the pods of a playground: what kube-proxy and an ingress controller do in a cluster, by the same objects and
// with the same delays.
//
// The playground's pods of the image sluice-playground/http are real HTTP servers. What has the address 10.a.b.c in the cluster answers on 127.a.b.c
// of this machine.
//
//   - [Plane.Service]: a proxy for each port of a Service. It hands every connection to one of the Service's ready endpoints by chance, as kube-proxy's
//     rules do, and where none is ready to one that is serving while it terminates (KEP-1669). A connection stays with its pod. Nothing is tried twice.
//   - [Plane.Gateway]: a real NGINX, configured from Ingresses, canary Ingresses (weight and header, by ingress-nginx's documentation) and HTTPRoutes
//     (weights, exact header matches, and mirrors). It sends to the pods themselves, as ingress controllers do, keeps connections to them open, and tries
//     another pod after an error of the connection, which is NGINX's default.
//
// What is written reaches the proxies only after [Lag]: that is where a controller can lose requests.
package plane
