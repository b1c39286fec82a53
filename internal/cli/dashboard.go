package cli

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/dashboard"
)

// serving is how the dashboard is served.
type serving struct {
	root      string
	port      uint16
	tokenFile string
	noOpen    bool
	readOnly  bool
}

func (a *app) dashboardCommand() *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Show all rollouts in the browser, live",
		Long: `Serves a dashboard on this machine and opens it in the browser. It shows the rollouts of all namespaces or, if you may not list
these, of your own. It acts with the rights of your kubeconfig, and only this machine can reach it.

The printed link lets one browser in and works once; the next link is printed when it has been used. Scripts send the token in
--token-file as "Authorization: Bearer TOKEN".`,
		Example: a.examples(`
			{} dashboard
			# Read-only
			{} dashboard --read-only
			# For a script that uses the REST API
			{} dashboard --no-open --token-file token`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveDashboard(cmd, s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.root, "root-path", "rollouts", "path prefix of all pages")
	f.Uint16VarP(&s.port, "port", "p", 3100, "port to listen on; 0 chooses a free one")
	f.BoolVar(&s.noOpen, "no-open", false, "do not open the browser")
	f.BoolVar(&s.readOnly, "read-only", false, "disable all actions")
	f.StringVar(&s.tokenFile, "token-file", "", "file to write a token for scripts into")
	return cmd
}

func (a *app) serveDashboard(cmd *cobra.Command, s serving) error {
	root := strings.Trim(s.root, "/")
	if strings.ContainsAny(root, " {}?#%\\\"<>") || strings.Contains(root, "//") {
		return fmt.Errorf("--root-path %q must be a path such as rollouts", s.root)
	}
	c, err := a.connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	namespace := c.Namespace
	c, err = everywhere(ctx, c, cmd.Flags().Changed("namespace"))
	if err != nil {
		return err
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.port))))
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d is taken: is a dashboard running already? Choose another port with --port, or 0 for any", s.port)
	}
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String()) // it listens there
	bearer, err := s.token()
	if err != nil {
		_ = listener.Close()
		return err
	}
	link := func(token string) string {
		u := url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", port), Path: strings.TrimSuffix("/"+root, "/") + "/login", RawQuery: url.Values{"token": {token}}.Encode()}
		return u.String()
	}
	first := true
	server := dashboard.New(dashboard.Options{
		Clock: a.clock, Client: c, Namespace: namespace, Cluster: a.flags.cluster(), Root: root, Hosts: dashboard.Loopback(port), Bearer: bearer, ReadOnly: s.readOnly,
		Invited: func(token string) {
			switch {
			case !first:
				a.tell("For another browser: %s\n", link(token))
				return
			case !s.noOpen && a.onTerminal():
				openBrowser(ctx, link(token)) // the link is printed in any case
			}
			first = false
			a.print("The dashboard is at %s\n", link(token))
		},
	})
	web := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
	go server.Run(ctx)
	go func() {
		<-ctx.Done()
		_ = web.Close() // streams would never end by themselves
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return ctx.Err()
}

// everywhere is the client for all namespaces that one may see, unless one is asked for.
func everywhere(ctx context.Context, c live.Client, chosen bool) (live.Client, error) {
	if chosen {
		return c, nil
	}
	return c.Everywhere(ctx)
}

// token is what scripts send, written into a file that only its owner reads.
func (s serving) token() (string, error) {
	if s.tokenFile == "" {
		return "", nil
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails, or ends the process
	token := base64.RawURLEncoding.EncodeToString(secret)
	_ = os.Remove(s.tokenFile) // one that others may read would stay so
	file, err := os.OpenFile(s.tokenFile, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	_, err = file.WriteString(token + "\n")
	return token, errors.Join(err, file.Close())
}

// onTerminal reports whether a user sees what is printed.
func (a *app) onTerminal() bool {
	return live.NewScreen(a.Out, true).Terminal()
}

// openBrowser asks the desktop to open a link. Where there is no desktop nothing happens.
func openBrowser(ctx context.Context, link string) {
	program := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if program == nil {
		program = []string{"xdg-open"}
	}
	cmd := exec.CommandContext(ctx, program[0], append(program[1:], link)...) //nolint:gosec // the link is ours
	if err := cmd.Start(); err == nil {
		go func() { _ = cmd.Wait() }() // how it ends is the desktop's business
	}
}
