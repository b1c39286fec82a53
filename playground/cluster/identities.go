package cluster

import (
	"fmt"
	"net"
	"os"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"github.com/sluice-delivery/sluice/playground/resourcemetrics"
)

// identities are all the keys of a cluster.
type identities struct {
	authority *keyPair
	server    *keyPair
	// metrics is that of the server of the resource-metrics API.
	metrics *keyPair
	// tokens signs the tokens of service accounts.
	tokens *keyPair

	// The users that come with the cluster. Each has all rights; they are several only so that logs can tell who did what.
	admin, controllers, kubelets identity
}

// identity is a user with a client certificate at one API server.
type identity struct {
	name      string
	host      string
	pair      *keyPair
	authority *keyPair
}

// loadIdentities reads the keys from the folder, making those that are missing.
func loadIdentities(dir, host string) (*identities, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder is not writable: %w", err)
	}
	ids := &identities{}
	var err error
	if ids.authority, err = loadOrCreate(dir, "ca", authorityCert(), nil); err != nil {
		return nil, err
	}
	names := []string{"kubernetes", "localhost", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	serving := serverCert(names, net.IPv4(127, 0, 0, 1), net.IPv4(10, 96, 0, 1))
	if ids.server, err = loadOrCreate(dir, "apiserver", serving, ids.authority); err != nil {
		return nil, err
	}
	if ids.metrics, err = loadOrCreate(dir, "metrics-server", serverCert(resourcemetrics.Names), ids.authority); err != nil {
		return nil, err
	}
	// Only the key is used; the certificate carries its public half.
	if ids.tokens, err = loadOrCreate(dir, "service-accounts", authorityCert(), nil); err != nil {
		return nil, err
	}
	if ids.admin, err = ids.user(dir, host, "kubernetes-admin", "admin"); err != nil {
		return nil, err
	}
	if ids.controllers, err = ids.user(dir, host, "system:kube-controller-manager", "controllers"); err != nil {
		return nil, err
	}
	if ids.kubelets, err = ids.user(dir, host, "system:playground-kubelets", "kubelets"); err != nil {
		return nil, err
	}
	return ids, nil
}

// user reads or makes a client certificate with all rights.
func (ids *identities) user(dir, host, name, file string) (identity, error) {
	pair, err := loadOrCreate(dir, file, userCert(name, user.SystemPrivilegedGroup), ids.authority)
	return identity{name: name, host: host, pair: pair, authority: ids.authority}, err
}

// config is how the identity reaches the API server. Without the client's own rate limit: the server has a fairer one.
func (i identity) config() *rest.Config {
	return &rest.Config{
		Host: i.host,
		QPS:  -1,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:   i.authority.certPEM,
			CertData: i.pair.certPEM,
			KeyData:  i.pair.keyPEM,
		},
	}
}
