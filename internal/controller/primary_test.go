package controller

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What is wrong with the Secret of the primary cluster is said with its name, its key, and what to do. A kubeconfig has no way to the controller's own files and
// programs.
func TestPrimaryConfig(t *testing.T) {
	kubeconfig := func(user string) string {
		return "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: k, cluster: {server: 'https://primary:6443'}}]\n" +
			"contexts: [{name: c, context: {cluster: k, user: u}}]\nusers: [{name: u, user: " + user + "}]\n"
	}
	for name, c := range map[string]struct {
		data map[string]string
		want string // of the error, empty for none
	}{
		"a token":             {map[string]string{"primary": kubeconfig("{token: x}")}, ""},
		"the first of two":    {map[string]string{"b": "junk", "a": kubeconfig("{token: x}")}, ""},
		"nothing":             {nil, "Secret argo-rollouts/istio has no data: add the kubeconfig"},
		"no kubeconfig":       {map[string]string{"primary": "junk"}, `Secret argo-rollouts/istio: the value of "primary" is not a valid kubeconfig`},
		"a program":           {map[string]string{"primary": kubeconfig("{exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, interactiveMode: Never}}")}, "runs a program or reads a file"},
		"a file with a token": {map[string]string{"primary": kubeconfig("{tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token}")}, "runs a program or reads a file"},
		"files with a key":    {map[string]string{"primary": kubeconfig("{client-certificate: /a, client-key: /b}")}, "runs a program or reads a file"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "argo-rollouts", Name: "istio"}, Data: map[string][]byte{}}
			for key, value := range c.data {
				secret.Data[key] = []byte(value)
			}
			config, err := primaryConfig(secret)
			if c.want == "" {
				if err != nil || config.Host != "https://primary:6443" || config.BearerToken != "x" {
					t.Errorf("%v, %v", config, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
