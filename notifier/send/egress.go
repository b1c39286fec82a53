package send

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// connected is how long a connection of the library may be open.
const connected = time.Minute

// Egress is a proxy on this machine, for clients that know nothing of our rules: it goes where the network may, and closes what takes long.
type Egress struct {
	network  *Network
	listener net.Listener
}

// NewEgress starts the proxy and has the process's environment name it. It must be called before anything reads that.
func NewEgress(n *Network) (*Egress, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		if err := os.Setenv(name, "http://"+listener.Addr().String()); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	return &Egress{n, listener}, nil
}

// Serve carries requests until ctx ends.
func (e *Egress) Serve(ctx context.Context) error {
	s := &http.Server{Handler: e, ReadHeaderTimeout: dialing, WriteTimeout: connected}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(e.listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// ServeHTTP carries one request, or with CONNECT a connection.
func (e *Egress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		e.connect(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), connected)
	defer cancel()
	out := r.Clone(ctx)
	out.RequestURI = ""
	out.Header.Del("Proxy-Connection")
	response, err := ruled{e.network, false}.RoundTrip(out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	defer func() { _ = response.Body.Close() }()
	for name, values := range response.Header {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length") // the body may have been cut
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

func (e *Egress) connect(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), dialing)
	defer cancel()
	out, err := e.dial(ctx, r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	defer func() { _ = out.Close() }()
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer func() { _ = in.Close() }()
	until := time.NewTimer(connected) //nolint:forbidigo // connections are the system's
	defer until.Stop()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	ended := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(out, buffered); ended <- struct{}{} }()
	go func() { _, _ = io.Copy(in, out); ended <- struct{}{} }()
	select {
	case <-ended:
	case <-until.C:
	}
}

// dial connects to host:port, through the operator's proxy if there is one.
func (e *Egress) dial(ctx context.Context, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	proxy, err := e.network.proxy(&url.URL{Scheme: "https", Host: address})
	if err != nil || proxy == nil {
		return e.network.Dial(ctx, address)
	}
	if err := e.network.Host(host); err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: dialing}).DialContext(ctx, "tcp", proxy.Host)
	if err != nil {
		return nil, err
	}
	if err := tunnel(ctx, conn, proxy, address); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// tunnel asks a proxy for a connection.
func tunnel(ctx context.Context, conn net.Conn, proxy *url.URL, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodConnect, "http://"+address, nil)
	if err != nil {
		return err
	}
	request.Host = address
	if password, ok := proxy.User.Password(); ok {
		request.SetBasicAuth(proxy.User.Username(), password)
		request.Header.Set("Proxy-Authorization", request.Header.Get("Authorization"))
		request.Header.Del("Authorization")
	}
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	answer, err := http.ReadResponse(bufio.NewReaderSize(conn, 16), request)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy %s refuses to connect to %s: %s", proxy.Host, address, answer.Status)
	}
	return conn.SetDeadline(time.Time{})
}
