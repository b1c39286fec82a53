package cluster

import (
	"context"
	"fmt"
	"math"
	"net"
	"time"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/pkg/controlplane/reconcilers"
	"k8s.io/kubernetes/plugin/pkg/admission/nodetaint"
)

type apiServerOptions struct {
	listener net.Listener
	etcd     string
	pki      *identities
	audit    *audit
	// logins is a file that names OpenID Connect providers, or nothing.
	logins string
}

// apiServer is a kube-apiserver that is ready to run.
type apiServer interface {
	Run(context.Context) error
}

// newAPIServer builds the API server as its own command would, only from values instead of flags.
func newAPIServer(opts apiServerOptions) (apiServer, error) {
	o := apiServerFlags(opts)
	if err := o.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	completed, err := o.Complete(context.Background())
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	if errs := completed.Validate(); len(errs) > 0 {
		return nil, fmt.Errorf("configure the API server: %w", utilerrors.NewAggregate(errs))
	}
	config, err := app.NewConfig(completed)
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	ready, err := config.Complete()
	if err != nil {
		return nil, fmt.Errorf("configure the API server: %w", err)
	}
	chain, err := app.CreateServerChain(ready)
	if err != nil {
		return nil, fmt.Errorf("build the API server: %w", err)
	}
	// The default is a minute, for as long as any client keeps a watch open.
	chain.GenericAPIServer.ShutdownTimeout = time.Second
	prepared, err := chain.PrepareRun()
	if err != nil {
		return nil, fmt.Errorf("build the API server: %w", err)
	}
	return prepared, nil
}

const (
	issuer       = "https://kubernetes.default.svc.cluster.local"
	serviceRange = "10.96.0.0/16"
)

// apiServerFlags keeps every default of a real cluster but those that one process on a loopback interface cannot have.
func apiServerFlags(opts apiServerOptions) *options.ServerRunOptions {
	o := options.NewServerRunOptions()
	o.Etcd.StorageConfig.Transport.ServerList = []string{opts.etcd}

	address := opts.listener.Addr().(*net.TCPAddr)
	o.SecureServing.Listener = opts.listener
	o.SecureServing.BindAddress, o.SecureServing.BindPort = address.IP, address.Port
	o.SecureServing.ServerCert.CertKey = genericoptions.CertKey{CertFile: opts.pki.server.certFile, KeyFile: opts.pki.server.keyFile}
	o.GenericServerRunOptions.AdvertiseAddress = address.IP
	o.ServiceClusterIPRanges = serviceRange
	// Endpoints must not be loopback addresses, so the Service "kubernetes" has none.
	o.EndpointReconcilerType = string(reconcilers.NoneEndpointReconcilerType)

	o.Authentication.ClientCert.ClientCA = opts.pki.authority.certFile
	o.Authentication.ServiceAccounts.Issuers = []string{issuer}
	o.Authentication.ServiceAccounts.KeyFiles = []string{opts.pki.tokens.keyFile}
	o.Authentication.AuthenticationConfigFile = opts.logins
	o.ServiceAccountSigningKeyFile = opts.pki.tokens.keyFile
	// Not the node authorizer: the simulated nodes share one user.
	o.Authorization.Modes = []string{"RBAC"}
	// It taints every new node until the node lifecycle controller has seen it ready, and that controller is not here.
	o.Admission.GenericAdmission.DisablePlugins = []string{nodetaint.PluginName}
	o.AllowPrivileged = true

	if opts.audit != nil {
		o.Audit.PolicyFile = opts.audit.policyFile
		o.Audit.LogOptions.Path = opts.audit.logFile
		// One file, however long: who counts requests must not miss those that were rotated away.
		o.Audit.LogOptions.MaxSize = math.MaxInt32
	}
	return o
}
