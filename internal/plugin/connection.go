package plugin

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"net/rpc"
	"time"

	"github.com/hashicorp/yamux"
)

const (
	// mostAnswer is how many bytes one answer may have. What it says must fit into the status of an object, which has less.
	mostAnswer = 4 << 20
	// longestConnect is how long a process that has printed its address may take until it answers there.
	longestConnect = 10 * time.Second
)

var errHuge = fmt.Errorf("the answer is larger than %d MiB", mostAnswer>>20)

// connection is what a process serves: go-plugin's control service, and the plugin's own. go-plugin's client would do, but it neither bounds
// an answer nor a wait.
type connection struct {
	session          *yamux.Session
	control, service *rpc.Client
}

// connect speaks with a process that has printed its address.
func connect(ctx context.Context, addr net.Addr, dispensed string, printed func(stream string, from io.Reader)) (*connection, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, addr.Network(), addr.String())
	if err != nil {
		return nil, err
	}
	config := yamux.DefaultConfig()
	config.LogOutput = io.Discard
	session, err := yamux.Client(conn, config)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c := &connection{session: session}
	stop := context.AfterFunc(ctx, func() { _ = session.Close() }) // nothing below waits longer
	defer stop()
	if err := c.open(dispensed, printed); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return c, nil
}

// open opens the streams in the order in which the other side accepts them.
func (c *connection) open(dispensed string, printed func(stream string, from io.Reader)) error {
	control, err := c.session.Open()
	if err != nil {
		return err
	}
	for _, name := range []string{"stdout", "stderr"} {
		stream, err := c.session.Open()
		if err != nil {
			return err
		}
		go printed(name, stream)
	}
	c.control = newClient(control)
	var id uint32
	if err := c.control.Call("Dispenser.Dispense", dispensed, &id); err != nil {
		return fmt.Errorf("unable to dispense plugin: %w", err)
	}
	stream, err := c.session.Open()
	if err != nil {
		return err
	}
	var acknowledged uint32
	if err := errors.Join(binary.Write(stream, binary.LittleEndian, id), binary.Read(stream, binary.LittleEndian, &acknowledged)); err != nil {
		return err
	}
	if acknowledged != id {
		return fmt.Errorf("the plugin acknowledged stream %d, not %d", acknowledged, id)
	}
	c.service = newClient(stream)
	return nil
}

// close ends all that waits.
func (c *connection) close() { _ = c.session.Close() }

// newClient is a client of net/rpc whose answers are bounded.
func newClient(conn io.ReadWriteCloser) *rpc.Client {
	in, out := &bounded{from: conn}, bufio.NewWriter(conn)
	return rpc.NewClientWithCodec(&codec{conn: conn, in: in, decode: gob.NewDecoder(in), out: out, encode: gob.NewEncoder(out)})
}

// bounded reads as much as is left.
type bounded struct {
	from io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHuge
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// codec is that of net/rpc, with a bound on each answer.
type codec struct {
	conn   io.Closer
	in     *bounded
	decode *gob.Decoder
	out    *bufio.Writer
	encode *gob.Encoder
}

// WriteRequest implements [rpc.ClientCodec].
func (c *codec) WriteRequest(r *rpc.Request, body any) error {
	return errors.Join(c.encode.Encode(r), c.encode.Encode(body), c.out.Flush())
}

// ReadResponseHeader begins an answer, whose bytes are counted from here.
func (c *codec) ReadResponseHeader(r *rpc.Response) error {
	c.in.left = mostAnswer
	return c.decode.Decode(r)
}

// ReadResponseBody implements [rpc.ClientCodec].
func (c *codec) ReadResponseBody(body any) error { return c.decode.Decode(body) }

// Close implements [rpc.ClientCodec].
func (c *codec) Close() error { return c.conn.Close() }
