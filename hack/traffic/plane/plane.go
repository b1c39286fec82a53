package plane

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Lag is how long what was written takes to reach the proxies.
type Lag struct {
	// Services is that of kube-proxy: Services and endpoints.
	Services time.Duration
	// Gateway is that of the ingress controller: what kube-proxy sees, Ingresses and HTTPRoutes, with the reload.
	Gateway time.Duration
}

// Options of a data plane.
type Options struct {
	Lag Lag
	// NGINX is the program; empty: there is no gateway.
	NGINX string
	// Folder for NGINX' configuration and log.
	Folder string
	Log    *slog.Logger
	// HTTPRoutes: their CRD is installed.
	HTTPRoutes bool
}

// Plane carries the traffic of one namespace.
type Plane struct {
	client    kubernetes.Interface
	namespace string
	options   Options
	informers informers.SharedInformerFactory
	routes    cache.GenericLister
	proxy     *proxy
	nginx     *nginx
	proxies   []*consumer

	mu     sync.Mutex
	number int // of the view taken last
	closed bool
}

var httpRoutes = schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"}

// Start carries traffic until Stop is called.
func Start(ctx context.Context, config *rest.Config, namespace string, o Options) (*Plane, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	p := &Plane{client: client, namespace: namespace, options: o, proxy: &proxy{log: o.Log, fronts: map[netip.AddrPort]*front{}}}
	p.proxies = append(p.proxies, &consumer{lag: o.Lag.Services, see: p.proxy.see})
	if o.NGINX != "" {
		if p.nginx, err = startNGINX(o); err != nil {
			return nil, err
		}
		p.proxies = append(p.proxies, &consumer{lag: o.Lag.Gateway, see: p.nginx.see})
	}
	if err := p.watch(ctx, config); err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

func (p *Plane) watch(ctx context.Context, config *rest.Config) error {
	p.informers = informers.NewSharedInformerFactoryWithOptions(p.client, 0, informers.WithNamespace(p.namespace))
	all := []cache.SharedIndexInformer{
		p.informers.Core().V1().Services().Informer(), p.informers.Discovery().V1().EndpointSlices().Informer(), p.informers.Networking().V1().Ingresses().Informer(),
	}
	if p.options.HTTPRoutes {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, p.namespace, nil)
		informer := factory.ForResource(httpRoutes)
		p.routes = informer.Lister()
		all = append(all, informer.Informer())
		defer factory.Start(ctx.Done())
	}
	changed := func(any) { p.look() }
	for _, informer := range all {
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, o any) { changed(o) }, DeleteFunc: changed}); err != nil {
			return err
		}
	}
	p.informers.Start(ctx.Done())
	return nil
}

// look takes a view of what there is now, which reaches the proxies when their lag is over.
func (p *Plane) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	v, err := p.view()
	if err != nil || p.closed {
		return // a cache that is not filled yet: its events come
	}
	p.number++
	for _, to := range p.proxies {
		p.pass(to, v, p.number)
	}
}

// consumer is a proxy that sees views late.
type consumer struct {
	lag  time.Duration
	see  func(view)
	seen int // the number of the view that it saw last
}

// pass has a consumer see a view when its lag is over, unless it has seen a later one.
func (p *Plane) pass(to *consumer, v view, number int) {
	time.AfterFunc(to.lag, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.closed && number > to.seen {
			to.seen = number
			to.see(v)
		}
	})
}

func (p *Plane) view() (view, error) {
	v := view{services: map[string]*corev1.Service{}, slices: map[string][]*discoveryv1.EndpointSlice{}}
	services, err1 := p.informers.Core().V1().Services().Lister().List(labels.Everything())
	slices, err2 := p.informers.Discovery().V1().EndpointSlices().Lister().List(labels.Everything())
	ingresses, err3 := p.informers.Networking().V1().Ingresses().Lister().List(labels.Everything())
	for _, s := range services {
		v.services[s.Name] = s
	}
	for _, s := range slices {
		name := s.Labels[discoveryv1.LabelServiceName]
		v.slices[name] = append(v.slices[name], s)
	}
	v.ingresses = ingresses
	if p.routes == nil {
		return v, errors.Join(err1, err2, err3)
	}
	routes, err := p.routes.List(labels.Everything())
	for _, r := range routes {
		if route, ok := r.(*unstructured.Unstructured); ok {
			v.routes = append(v.routes, route)
		}
	}
	return v, errors.Join(err1, err2, err3, err)
}

// Service is the URL of a port of a Service.
func (p *Plane) Service(service *corev1.Service, port int32) (string, error) {
	at, ok := Loopback(service.Spec.ClusterIP)
	if !ok {
		return "", fmt.Errorf("service %s has no IPv4 address: %q", service.Name, service.Spec.ClusterIP)
	}
	return "http://" + netip.AddrPortFrom(at, uint16(port)).String(), nil
}

// Gateway is the URL of NGINX.
func (p *Plane) Gateway() string { return "http://" + p.nginx.address }

// Stop ends the proxies.
func (p *Plane) Stop() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.proxy.close()
	if p.nginx == nil {
		return nil
	}
	return p.nginx.stop()
}
