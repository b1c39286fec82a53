package resourcemetrics

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// Options of the server.
type Options struct {
	// Usage of the pods that are HTTP servers.
	Usage Usage
	// Certificate of the server, for Names, and Authority, in PEM, which issued it.
	Certificate tls.Certificate
	Authority   []byte
}

// Names are those under which the API server knows the server.
var Names = []string{service + "." + metav1.NamespaceSystem + ".svc"}

// Server answers requests for metrics on a port of the loopback interface.
type Server struct {
	options  Options
	config   *rest.Config
	client   kubernetes.Interface
	listener net.Listener
}

// name of the APIService, as everywhere, and of the Service that leads to it.
const (
	apiService = "v1beta1.metrics.k8s.io"
	service    = "metrics-server"
)

// Listen opens the server's port. Run serves.
func Listen(config *rest.Config, o Options) (*Server, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("resource metrics: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("resource metrics: %w", err)
	}
	return &Server{options: o, config: config, client: client, listener: listener}, nil
}

// Run serves until ctx ends, and then returns nil.
func (s *Server) Run(ctx context.Context) error {
	server := http.Server{
		Handler:           (&api{client: s.client, usage: s.options.Usage, now: time.Now}).handler(),
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{s.options.Certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 10 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ServeTLS(s.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("resource metrics: %w", err)
	}
	return nil
}

// Register has the API server send requests for metrics here. What an earlier run has registered is replaced.
func (s *Server) Register(ctx context.Context) error {
	registry, err := aggregator.NewForConfig(s.config)
	if err != nil {
		return fmt.Errorf("resource metrics: %w", err)
	}
	port := int32(s.listener.Addr().(*net.TCPAddr).Port)
	services := s.client.CoreV1().Services(metav1.NamespaceSystem)
	local := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: service},
		// The API server has no route to cluster addresses, but a Service may have a name instead.
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
	}
	if _, err := services.Create(ctx, local, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("resource metrics: %w", err)
	}
	apis := registry.ApiregistrationV1().APIServices()
	want := &apiregistration.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: apiService},
		Spec: apiregistration.APIServiceSpec{
			Group: metricsv1beta1.GroupName, Version: "v1beta1", GroupPriorityMinimum: 100, VersionPriority: 100, // as metrics-server has it
			Service:  &apiregistration.ServiceReference{Namespace: metav1.NamespaceSystem, Name: service, Port: &port},
			CABundle: s.options.Authority,
		},
	}
	_, err = apis.Create(ctx, want, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var old *apiregistration.APIService
		if old, err = apis.Get(ctx, apiService, metav1.GetOptions{}); err == nil {
			old.Spec = want.Spec
			_, err = apis.Update(ctx, old, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		return fmt.Errorf("resource metrics: %w", err)
	}
	return nil
}

// Ready returns nil when the API server answers requests for metrics.
func (s *Server) Ready(ctx context.Context) error {
	return s.client.Discovery().RESTClient().Get().AbsPath(root + "/v1beta1/pods").Do(ctx).Error()
}
