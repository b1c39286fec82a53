// Package port finds TCP ports for servers under test: for the programs of this repository, and for those beside them that must be told
// where to listen. What must not be here: servers. Those that can say where they listen had better listen at port 0.
package port

import (
	"fmt"
	"net"
)

// Free is a port of this machine that nobody listens on.
func Free() (int, error) {
	ports, err := Several(1)
	if err != nil {
		return 0, err
	}
	return ports[0], nil
}

// Several returns n different ports.
func Several(n int) ([]int, error) {
	var ports []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close() //nolint:errcheck // all at the end, so that no port is given twice; nothing was sent
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
