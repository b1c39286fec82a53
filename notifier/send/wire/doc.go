// Package wire tests what reaches the servers of each service: a proxy of the test stands for all of them.
package wire
