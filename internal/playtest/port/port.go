// Package port finds TCP ports for servers under test: for the programs of this repository, and for those beside them that must be told
// where to listen. What must not be here: servers. Those that can say where they listen had better listen at port 0.
package port

import (
	"fmt"
	"net"
)

// Free is a port of this machine that nobody listens on.
func Free() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}
