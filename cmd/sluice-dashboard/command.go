package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/sluice-delivery/sluice/internal/buildinfo"
	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/dashboard"
	"github.com/sluice-delivery/sluice/internal/dashboard/login"
)

// usageError is a mistake in how the program was called.
type usageError struct{ error }

// settings are the flags.
type settings struct {
	kubeconfig, namespace, listen, url, cluster string
	auth                                        string
	issuer, clientID, clientSecretFile, caFile  string
	scopes                                      []string
	mapping                                     login.Mapping
	keyFile                                     string
	maxAge                                      time.Duration
	certFile, certKeyFile                       string
	frames                                      []string
	allowActions, publicBadges, printsVersion   bool
}

func newCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "sluice-dashboard",
		Short: "Serve a dashboard of the Rollouts in a cluster, where users see what RBAC lets them read",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("the dashboard takes flags only, not %q", args)}
			}
			return nil
		},
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if s.printsVersion {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), buildinfo.Version())
				return err
			}
			return s.run(cmd.Context())
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	s.addFlags(cmd.Flags())
	return cmd
}

func (s *settings) addFlags(f *pflag.FlagSet) {
	f.StringVar(&s.url, "url", "", "`URL` where people reach the dashboard, such as https://rollouts.example.com/rollouts; it must be https")
	f.StringVar(&s.listen, "listen", ":3100", "`ADDRESS` to listen on; the health probes /healthz and /readyz are served there too")
	f.StringVar(&s.certFile, "tls-cert-file", "", "`FILE` with a certificate to serve TLS with; without it, a Gateway or an Ingress must terminate TLS")
	f.StringVar(&s.certKeyFile, "tls-key-file", "", "`FILE` with the key of --tls-cert-file")
	f.StringVar(&s.auth, "auth", "token", "how users are identified: 'token' passes the bearer token of each request, which a proxy adds, to the API server; 'oidc' logs people in and impersonates them")
	f.StringVar(&s.issuer, "oidc-issuer-url", "", "`URL` of the OpenID Connect provider")
	f.StringVar(&s.clientID, "oidc-client-id", "", "ID of the dashboard at the provider")
	f.StringVar(&s.clientSecretFile, "oidc-client-secret-file", "", "`FILE` with the secret of --oidc-client-id; without it the dashboard is a public client")
	f.StringVar(&s.caFile, "oidc-ca-file", "", "`FILE` with the certificate authority of the provider; without it those of the system")
	f.StringSliceVar(&s.scopes, "oidc-scopes", []string{"openid", "profile", "email"}, "scopes to ask for; most providers need offline_access to send a refresh token, and many need groups to send the groups")
	f.StringVar(&s.mapping.UserClaim, "oidc-username-claim", "email", "claim that is the name of the user")
	f.StringVar(&s.mapping.UserPrefix, "oidc-username-prefix", "", "what to put before the name of the user")
	f.StringVar(&s.mapping.GroupClaim, "oidc-groups-claim", "groups", "claim that names the groups of the user")
	f.StringVar(&s.mapping.GroupsPrefix, "oidc-groups-prefix", "", "what to put before the name of a group")
	f.StringSliceVar(&s.mapping.Groups, "oidc-groups", nil, "`GROUPS` to pass on, with their prefix; all others are ignored, and the dashboard's role must allow impersonating them")
	f.StringVar(&s.keyFile, "session-key-file", "", "`FILE` with 32 random bytes or more that encrypt cookies; the same for all replicas. Without it everyone has to log in again after a restart")
	f.DurationVar(&s.maxAge, "session-max-age", 12*time.Hour, "time after which people have to log in again")
	f.BoolVar(&s.allowActions, "allow-actions", false, "offer actions such as promote and abort to those who may do them; by default the dashboard only shows")
	f.StringSliceVar(&s.frames, "frame-ancestors", nil, "`ORIGINS` whose pages may show a rollout's tile in a frame, such as https://argocd.example.com")
	f.BoolVar(&s.publicBadges, "public-badges", false, "show badges, with the name and status of a rollout, to everyone who knows its namespace and name, without a login")
	f.StringVarP(&s.namespace, "namespace", "n", "", "show this namespace only; by default all that the viewer may see")
	f.StringVar(&s.cluster, "cluster-name", "", "name of the cluster in the page header")
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "kubeconfig `FILE` of the cluster; without it $KUBECONFIG, then the pod's own service account")
	f.BoolVar(&s.printsVersion, "version", false, "print the version and exit")
}

func (s *settings) run(ctx context.Context) error {
	at, err := s.address()
	if err != nil {
		return err
	}
	base, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: s.kubeconfig, Precedence: clientcmd.NewDefaultClientConfigLoadingRules().Precedence}, nil).ClientConfig()
	if err != nil {
		return fmt.Errorf("no cluster: %w", err)
	}
	base.UserAgent = "sluice-dashboard/" + buildinfo.Version()
	for _, origin := range s.frames {
		if u, err := url.Parse(origin); err != nil || u.Scheme != "https" || u.Host == "" || u.Path != "" || strings.ContainsAny(origin, " ;,'\"") {
			return &usageError{fmt.Errorf("--frame-ancestors %q must be an origin such as https://argocd.example.com", origin)}
		}
	}
	key, err := s.key()
	if err != nil {
		return err
	}
	door, err := s.door(ctx, base, at, key)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(base)
	if err != nil {
		return err
	}
	server := dashboard.New(dashboard.Options{
		Clock: clock.RealClock{}, Client: live.Client{Interface: client, Namespace: s.namespace}, Namespace: s.namespace, Cluster: s.cluster,
		Door: door, Secret: key, Secure: true, Root: strings.Trim(at.Path, "/"), Hosts: []string{strings.ToLower(at.Host)}, ReadOnly: !s.allowActions,
		Frames: s.frames, PublicBadges: s.publicBadges,
	})
	go server.Run(ctx)
	return s.serve(ctx, server)
}

// address is the URL that people use.
func (s *settings) address() (*url.URL, error) {
	if s.url == "" {
		return nil, &usageError{errors.New("--url is required: where people reach the dashboard, such as https://rollouts.example.com/rollouts")}
	}
	u, err := url.Parse(strings.TrimRight(s.url, "/"))
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || strings.ContainsAny(u.Path, " {}%\\\"<>") || strings.Contains(u.Path, "//") {
		return nil, &usageError{fmt.Errorf("--url %q must be an https URL without a query, such as https://rollouts.example.com/rollouts: cookies of logins are sent by HTTPS only", s.url)}
	}
	return u, nil
}

// minKey is as long as the key that is made of it.
const minKey = 32

func (s *settings) key() ([]byte, error) {
	if s.keyFile == "" {
		return nil, nil
	}
	key, err := os.ReadFile(s.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--session-key-file: %w", err)
	}
	if key = bytes.TrimSpace(key); len(key) < minKey {
		return nil, fmt.Errorf("--session-key-file %s has %d bytes; it needs %d random ones or more", s.keyFile, len(key), minKey)
	}
	return key, nil
}

func (s *settings) door(ctx context.Context, base *rest.Config, at *url.URL, key []byte) (dashboard.Door, error) {
	switch s.auth {
	case "token":
		return login.NewTokens(base, clock.RealClock{}), nil
	case "oidc":
	default:
		return nil, &usageError{fmt.Errorf("--auth %q must be token or oidc", s.auth)}
	}
	if s.issuer == "" || s.clientID == "" {
		return nil, &usageError{errors.New("--auth oidc needs --oidc-issuer-url and --oidc-client-id")}
	}
	if s.maxAge < time.Minute {
		return nil, &usageError{fmt.Errorf("--session-max-age %s must be a minute or more", s.maxAge)}
	}
	o := login.Options{
		Issuer: s.issuer, ClientID: s.clientID, Scopes: s.scopes, Mapping: s.mapping, URL: at, Key: key, MaxAge: s.maxAge, Clock: clock.RealClock{}, Base: base,
	}
	if s.clientSecretFile != "" {
		secret, err := os.ReadFile(s.clientSecretFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-client-secret-file: %w", err)
		}
		o.ClientSecret = strings.TrimSpace(string(secret))
	}
	var err error
	if o.HTTP, err = s.provider(); err != nil {
		return nil, err
	}
	return login.NewOIDC(ctx, o)
}

// providerTimeout is how long the provider may take to answer.
const providerTimeout = 10 * time.Second

// provider is a client for the identity provider.
func (s *settings) provider() (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.caFile != "" {
		text, err := os.ReadFile(s.caFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--oidc-ca-file %s has no certificate", s.caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: transport, Timeout: providerTimeout}, nil
}

// serve answers until ctx ends.
func (s *settings) serve(ctx context.Context, server *dashboard.Server) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) }) // a prober that is gone needs nothing
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !server.Ready() {
			http.Error(w, "the cluster's Rollouts have not been read yet", http.StatusServiceUnavailable)
		}
	})
	mux.Handle("/", server.Handler())
	web := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", s.listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	go func() {
		<-ctx.Done()
		_ = web.Close() // streams would never end by themselves, and browsers come back
	}()
	if s.certFile != "" {
		err = web.ServeTLS(listener, s.certFile, s.certKeyFile)
	} else {
		err = web.Serve(listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
