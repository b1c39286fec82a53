// Command traffic holds updates against real HTTP requests: it starts a playground whose pods are HTTP servers, a data plane (package plane) with a
// real NGINX, a controller for each cell of a matrix, and a load at a fixed rate (package load); then it does to a Rollout what the cell says, and
// counts the requests that were lost.
//
// A request is lost if no pod answered it. The matrix is strategy × event × delay of the data plane; every cell must lose none. Cells whose settings
// must lose requests (no preStop hook, no readiness probe) show that the ledger counts them, and say why.
package main
