package cluster

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName is the one context of every kubeconfig that the playground writes, and how it knows its own.
const contextName = "sluice-playground"

// writeKubeconfigs writes the administrator's kubeconfig to the data folder and, if a path is given, to that too. It
// returns the one the user should know.
func (c *Cluster) writeKubeconfigs(dir *dataDir, admin identity, second string) (string, error) {
	content, err := kubeconfig(admin.name, admin.config())
	if err != nil {
		return "", err
	}
	own := dir.path("kubeconfig")
	if err := writeKubeconfig(own, content); err != nil {
		return "", err
	}
	if second == "" {
		return own, nil
	}
	if second, err = filepath.Abs(second); err != nil {
		return "", fmt.Errorf("kubeconfig: %w", err)
	}
	if err := refuseForeign(second); err != nil {
		return "", err
	}
	if err := writeKubeconfig(second, content); err != nil {
		return "", err
	}
	if dir.temporary && second != own {
		// It leads nowhere once the keys are gone.
		c.onStop(func() { _ = os.Remove(second) })
	}
	return second, nil
}

// kubeconfig is a kubeconfig for what config reaches, as one user.
func kubeconfig(user string, config *rest.Config) ([]byte, error) {
	file := clientcmdapi.NewConfig()
	file.Clusters[contextName] = &clientcmdapi.Cluster{
		Server:                   config.Host,
		CertificateAuthorityData: config.CAData,
	}
	file.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData,
		ClientKeyData:         config.KeyData,
		Token:                 config.BearerToken,
	}
	file.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: user}
	file.CurrentContext = contextName
	content, err := clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return content, nil
}

// refuseForeign protects the kubeconfig of a user's real clusters from being overwritten by mistake.
func refuseForeign(path string) error {
	existing, err := clientcmd.LoadFromFile(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("kubeconfig %s is there already and not a kubeconfig: %w", path, err)
	}
	for name := range existing.Contexts {
		if name != contextName {
			return fmt.Errorf("kubeconfig %s has other clusters in it (context %q); choose another file", path, name)
		}
	}
	return nil
}

// writeKubeconfig puts the file in place in one step: a reader sees the old content or the new.
func writeKubeconfig(path string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig-")
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	defer func() { _ = os.Remove(temporary.Name()) }()
	_, err = temporary.Write(content)
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}
