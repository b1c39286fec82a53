// Package serve runs pods of the playground that are real HTTP servers: those with the image "sluice-playground/http:TAG".
//
// # Addresses
//
// The playground has one machine, and its pods and Services have addresses of a cluster: 10.244.1.7, 10.96.0.12. What answers for 10.a.b.c listens
// on the machine's loopback address 127.a.b.c ([Loopback]), which Linux has without any setup. Clients that read the addresses from Pods, Services
// and EndpointSlices translate them the same way.
//
// # A server's life
//
// It is that of a container: the server listens App.Start after the container started, as an application that has to warm up; its port is closed
// until then. It gets SIGTERM when the pod's preStop hooks are over, and then does what a Go program does that calls Server.Shutdown: it closes
// its port and its idle connections at once, and answers what is under way. At the end of its grace period, or when it crashes, its connections
// are cut.
package serve
