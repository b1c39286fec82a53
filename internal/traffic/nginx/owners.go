package nginx

import "k8s.io/apimachinery/pkg/runtime/schema"

// Kinds are those of the objects that the router writes.
func Kinds() []schema.GroupVersionKind { return []schema.GroupVersionKind{GVK} }
