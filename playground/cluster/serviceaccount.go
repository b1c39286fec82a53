package cluster

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// ServiceAccountKubeconfig makes a kubeconfig whose user is a service account, so that a program outside of the cluster can
// run with exactly the identity and the rights that its manifests give it inside.
//
// config is the client: a user who may create tokens. It may be any cluster's.
func ServiceAccountKubeconfig(ctx context.Context, config *rest.Config, namespace, name string, validity time.Duration) ([]byte, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("service account %s/%s: %w", namespace, name, err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: new(int64(validity.Seconds())),
	}}
	answer, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token for service account %s/%s: %w", namespace, name, err)
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("service account %s/%s: %w", namespace, name, err)
	}
	as := rest.AnonymousClientConfig(config)
	as.BearerToken = answer.Status.Token
	return kubeconfig("system:serviceaccount:"+namespace+":"+name, as)
}
