package controller

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// Istio's control plane may read its configuration from another cluster, the primary one. A Secret in the controller's namespace then has the
// kubeconfig of that cluster, and all objects of Istio are read and written there. It is not looked for in other namespaces: anyone who may create a
// Secret in one would decide where the routes of all Rollouts are.

// longestDial is how long a connection to the primary cluster may take: reconciles of Rollouts that Istio splits wait for it.
const longestDial = 5 * time.Second

// isPrimary reports whether objects of an API group are in the primary cluster.
func isPrimary(group string) bool { return group == "networking.istio.io" }

// primary is the cluster that has Istio's objects.
type primary struct {
	client client.Client
	live   client.Reader
	cache  cache.Cache
	mapper meta.RESTMapper
}

// addPrimary has Istio's objects read and written in the primary cluster, if there is a Secret that says where that is.
func addPrimary(ctx context.Context, mgr manager.Manager, config *rest.Config, o Options, parts *Deps) error {
	secrets, err := primarySecrets(ctx, mgr.GetAPIReader(), o.OwnNamespace, parts.Log)
	if len(secrets) == 0 || err != nil {
		return err
	}
	at, problem := openPrimary(mgr, secrets, config, o)
	if problem != nil {
		parts.Log.ErrorContext(ctx, "the primary cluster of Istio cannot be used", "error", problem)
		at = brokenPrimary(parts, problem)
	} else {
		parts.Log.InfoContext(ctx, "objects of Istio are in another cluster", "secret", secrets[0].Name)
	}
	parts.Client = primaryClient{parts.Client, at.client}
	parts.Live = primaryReader{parts.Live, at.live}
	parts.Cache = primaryCache{parts.Cache, at.cache}
	parts.Mapper = primaryMapper{parts.Mapper, at.mapper}
	return nil
}

// primarySecrets are the Secrets with the kubeconfig of a primary cluster, none if the controller may not look for them.
func primarySecrets(ctx context.Context, reader client.Reader, namespace string, log *slog.Logger) ([]corev1.Secret, error) {
	if namespace == "" {
		return nil, nil
	}
	var found corev1.SecretList
	err := reader.List(ctx, &found, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.PrimaryClusterLabel: "true"})
	if apierrors.IsForbidden(err) {
		log.DebugContext(ctx, "Secrets cannot be listed, so objects of Istio are read in this cluster", "namespace", namespace)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list Secrets of namespace %s with the label %s: %w", namespace, v1alpha1.PrimaryClusterLabel, err)
	}
	return found.Items, nil
}

// primaryConfig is how to reach the cluster that a Secret names. It has no more than is in the Secret: neither programs that are run for a token, nor files
// of the controller.
func primaryConfig(secret *corev1.Secret) (*rest.Config, error) {
	about := fmt.Sprintf("Secret %s/%s", secret.Namespace, secret.Name)
	keys := slices.Sorted(maps.Keys(secret.Data))
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no data: add the kubeconfig of the cluster under the name of that cluster", about)
	}
	kubeconfig, err := clientcmd.Load(secret.Data[keys[0]])
	if err == nil && leavesSecret(kubeconfig) {
		return nil, fmt.Errorf("%s: the kubeconfig in %q runs a program or reads a file for its credentials: put a token, or certificates as ...-data, into it", about, keys[0])
	}
	var config *rest.Config
	if err == nil {
		config, err = clientcmd.NewDefaultClientConfig(*kubeconfig, nil).ClientConfig()
	}
	if err != nil { // which may quote what is in the Secret, and this is shown to everyone
		return nil, fmt.Errorf("%s: the value of %q is not a valid kubeconfig: see what kubectl --kubeconfig FILE cluster-info says about it", about, keys[0])
	}
	return config, nil
}

// leavesSecret reports whether a kubeconfig has credentials that are not in it.
func leavesSecret(k *clientcmdapi.Config) bool {
	for _, u := range k.AuthInfos {
		if u.Exec != nil || u.AuthProvider != nil || u.TokenFile != "" || u.ClientCertificate != "" || u.ClientKey != "" {
			return true
		}
	}
	for _, c := range k.Clusters {
		if c.CertificateAuthority != "" {
			return true
		}
	}
	return false
}

// openPrimary makes clients of the cluster that the one Secret names.
func openPrimary(mgr manager.Manager, secrets []corev1.Secret, local *rest.Config, o Options) (*primary, error) {
	if len(secrets) > 1 {
		var names []string
		for _, s := range secrets {
			names = append(names, s.Name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("the Secrets %s in namespace %s have the label %s: remove it from all but one, then restart the controller",
			strings.Join(names, " and "), secrets[0].Namespace, v1alpha1.PrimaryClusterLabel)
	}
	secret := &secrets[0]
	config, err := primaryConfig(secret)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.UserAgent = local.QPS, local.Burst, local.UserAgent
	config.Dial = (&net.Dialer{Timeout: longestDial}).DialContext
	cached := cache.Options{DefaultTransform: cache.TransformStripManagedFields()}
	if o.Namespace != "" {
		cached.DefaultNamespaces = map[string]cache.Config{o.Namespace: {}}
	}
	far, err := cluster.New(config, func(c *cluster.Options) {
		c.Scheme, c.Cache, c.MapperProvider = Scheme(), cached, newMapper(o.Versions)
		c.Client, c.NewClient = client.Options{Cache: &client.CacheOptions{Unstructured: true}}, newClient(true)
	})
	if err != nil {
		return nil, fmt.Errorf("Secret %s/%s: %w", secret.Namespace, secret.Name, err) //nolint:staticcheck // a kind
	}
	if err := mgr.Add(far); err != nil {
		return nil, err
	}
	mapper := reachedMapper{far.GetRESTMapper(), fmt.Sprintf("the cluster of Secret %s/%s, which has the objects of Istio, cannot be asked", secret.Namespace, secret.Name)}
	return &primary{client: far.GetClient(), live: servedReader{far.GetAPIReader(), mapper}, cache: servedCache{far.GetCache(), mapper}, mapper: mapper}, nil
}

// reachedMapper is the mapper of the primary cluster. It is asked before anything else, so that it reports in the status of Rollouts why the cluster cannot
// be reached.
type reachedMapper struct {
	meta.RESTMapper
	problem string
}

// RESTMapping returns the resource of a kind.
func (m reachedMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	found, err := m.RESTMapper.RESTMapping(kind, versions...)
	if err != nil && !meta.IsNoMatchError(err) {
		return nil, noRights{fmt.Errorf("%s: %w", m.problem, err)}
	}
	return found, err
}

// brokenPrimary is a primary cluster that cannot be used. All who look for an object of Istio get the reason, so that none is written.
func brokenPrimary(parts *Deps, reason error) *primary {
	reason = noRights{reason}
	return &primary{client: parts.Client, live: brokenReader{reason}, cache: parts.Cache, mapper: brokenMapper{parts.Mapper, reason}}
}

type brokenMapper struct {
	meta.RESTMapper
	reason error
}

// RESTMapping returns the reason.
func (m brokenMapper) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, m.reason
}

type brokenReader struct{ reason error }

// Get returns the reason.
func (r brokenReader) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return r.reason
}

// List returns the reason.
func (r brokenReader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return r.reason
}

// in is which of two has the objects of a kind.
func in[T any](obj runtime.Object, here, there T) T {
	if isPrimary(obj.GetObjectKind().GroupVersionKind().Group) {
		return there
	}
	return here
}

// primaryClient reads and writes objects where they are.
type primaryClient struct {
	client.Client
	primary client.Client
}

func (c primaryClient) of(obj runtime.Object) client.Client { return in(obj, c.Client, c.primary) }

// Get reads an object.
func (c primaryClient) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	return c.of(obj).Get(ctx, key, obj, options...)
}

// List lists objects.
func (c primaryClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.of(list).List(ctx, list, options...)
}

// Patch patches an object.
func (c primaryClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.of(obj).Patch(ctx, obj, patch, options...)
}

// primaryReader reads objects where they are.
type primaryReader struct {
	client.Reader
	primary client.Reader
}

// Get reads an object.
func (r primaryReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	return in(obj, r.Reader, r.primary).Get(ctx, key, obj, options...)
}

// List lists objects.
func (r primaryReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return in(list, r.Reader, r.primary).List(ctx, list, options...)
}

// primaryCache has objects of both clusters. Whether it is filled is said of this cluster alone: nothing else waits for the primary one.
type primaryCache struct {
	cache.Cache
	primary cache.Cache
}

// Get reads an object.
func (c primaryCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
	return in(obj, c.Cache, c.primary).Get(ctx, key, obj, options...)
}

// List lists objects.
func (c primaryCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return in(list, c.Cache, c.primary).List(ctx, list, options...)
}

// GetInformer returns the informer of a kind.
func (c primaryCache) GetInformer(ctx context.Context, obj client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	return in(obj, c.Cache, c.primary).GetInformer(ctx, obj, options...)
}

// IndexField adds an index.
func (c primaryCache) IndexField(ctx context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	return in(obj, c.Cache, c.primary).IndexField(ctx, obj, field, values)
}

// primaryMapper knows the kinds of both clusters.
type primaryMapper struct {
	meta.RESTMapper
	primary meta.RESTMapper
}

// RESTMapping returns the resource of a kind.
func (m primaryMapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if isPrimary(kind.Group) {
		return m.primary.RESTMapping(kind, versions...)
	}
	return m.RESTMapper.RESTMapping(kind, versions...)
}
