package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"

	"github.com/sluice-delivery/sluice/api/plugin"
	"github.com/sluice-delivery/sluice/internal/fair"
)

const (
	// longestStart is how long a process may take to print its address.
	longestStart = time.Minute
	// longestQuit is how long it may take to end by itself.
	longestQuit = 2 * time.Second
	// mostCalls is how many calls one process gets at once; namespaces take turns.
	mostCalls = 16
	// busyTries and busyWait are how often, and how much later each time, a binary is started that is still open for writing.
	busyTries = 10
	busyWait  = 20 * time.Millisecond
)

// process is a plugin that runs.
type process struct {
	*connection
	id      ID
	entry   Entry
	started time.Time
	calls   *fair.Places
	// end ends it, at once or in peace; ended is closed afterwards.
	end   chan bool
	ended chan struct{}
}

// begin starts the process of a plugin and has it initialized. It takes a minute at most.
func (h *Host) begin(ctx context.Context, id ID, e Entry) (*process, error) {
	path, err := h.fetch(ctx, id, e)
	if err != nil {
		return nil, err
	}
	p := &process{id: id, entry: e, started: h.now(), calls: fair.NewPlaces(mostCalls, mostCalls), end: make(chan bool, 1), ended: make(chan struct{})}
	begun := make(chan error, 1)
	go p.run(ctx, path, h.environment(e), newLines(h.settings.Log, id), begun)
	if err := <-begun; err != nil {
		return nil, fmt.Errorf("unable to start plugin %s: %w", path, err)
	}
	if err := p.initialize(ctx); err != nil {
		p.stop(true)
		return nil, fmt.Errorf("unable to initialize plugin via rpc (%s): %w", id.Name, err)
	}
	return p, nil
}

// run starts the process, says whether that succeeded, and ends it when it is told to.
func (p *process) run(ctx context.Context, path string, env []string, printed *lines, begun chan<- error) {
	defer close(p.ended)
	runtime.LockOSThread() // the process ends with the thread that began it (attributes)
	defer runtime.UnlockOSThread()
	var (
		client *goplugin.Client
		cmd    *exec.Cmd
		addr   net.Addr
		err    error
	)
	for try := range busyTries {
		cmd = exec.Command(path, p.entry.Args...) //nolint:gosec,noctx // the administrator says what is run, and it outlives the call that needs it first
		cmd.Env, cmd.SysProcAttr = env, attributes()
		client = goplugin.NewClient(&goplugin.ClientConfig{
			HandshakeConfig: p.id.Kind.Handshake(), Plugins: goplugin.PluginSet{p.id.Kind.Dispensed(): nil}, Cmd: cmd, SkipHostEnv: true,
			StartTimeout: longestStart, AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolNetRPC}, Logger: printed.logger(),
			MinPort: 10000, MaxPort: 25000,
		})
		if addr, err = client.Start(); !errors.Is(err, syscall.ETXTBSY) {
			break
		}
		// Another process that was begun while the binary was written has it open until it runs its own.
		waited, cancel := context.WithTimeout(ctx, time.Duration(try+1)*busyWait)
		<-waited.Done()
		cancel()
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, longestConnect)
		p.connection, err = connect(ctx, addr, p.id.Kind.Dispensed(), printed.read)
		cancel()
	}
	begun <- err
	if err == nil {
		if atOnce := <-p.end; !atOnce {
			p.quit()
		}
		p.close()
	}
	if cmd.Process != nil && !client.Exited() {
		killGroup(cmd.Process) // go-plugin reaps it
	}
	removeSocket(addr)
}

// removeSocket removes what a process leaves that was killed.
func removeSocket(addr net.Addr) {
	unix, ok := addr.(*net.UnixAddr)
	if !ok {
		return
	}
	if info, err := os.Lstat(unix.Name); err == nil && info.Mode()&os.ModeSocket != 0 {
		_ = os.Remove(unix.Name)
	}
}

// stop ends the process, at once or in peace, and waits for that.
func (p *process) stop(atOnce bool) {
	select {
	case p.end <- atOnce:
	default: // it ends already
	}
	<-p.ended
}

// quit asks a process to end by itself.
func (p *process) quit() {
	quit := p.control.Go("Control.Quit", true, new(struct{}), nil)
	ctx, cancel := context.WithTimeout(context.Background(), longestQuit)
	defer cancel()
	select {
	case <-quit.Done:
	case <-ctx.Done():
	}
}

func (p *process) initialize(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.entry.timeout(), errLate)
	defer cancel()
	failed, err := ask[plugin.RpcError](ctx, p, "InitPlugin", nil)
	if err != nil {
		return err
	}
	if failed.ErrorString != "" {
		return errors.New(short(failed.ErrorString))
	}
	return nil
}

// passedOn are the variables of the controller's environment that every plugin gets: how to find programs, the cluster, and the way out. Others
// may hold credentials.
var passedOn = []string{
	"PATH", "HOME", "TMPDIR", "TZ", "LANG", "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "POD_NAMESPACE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

func (h *Host) environment(e Entry) []string {
	env := []string{}
	for _, name := range append(append([]string{}, passedOn...), e.Env...) {
		if value := h.settings.Env(name); value != "" && !strings.ContainsRune(name, '=') {
			env = append(env, name+"="+value)
		}
	}
	return env
}
