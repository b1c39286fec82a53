package spec

import (
	"encoding/json"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// SameTemplate reports whether a ReplicaSet's template, as the API server stored it, describes the same pods as the wanted
// one, which a Rollout holds as it was written: without the API server's defaults. The label with the version's hash does not
// count, nor does the deprecated serviceAccount.
//
// It is what keeps a new controller, or one whose hashes differ, from starting an update that nobody asked for.
func SameTemplate(wanted, stored *corev1.PodTemplateSpec) bool {
	a, b := wanted.DeepCopy(), stored.DeepCopy()
	for _, t := range []*corev1.PodTemplateSpec{a, b} {
		delete(t.Labels, v1alpha1.PodTemplateHashLabel)
		t.Spec.DeprecatedServiceAccount = ""
	}
	return sameButDefaults(asTree(a), asTree(b))
}

func asTree(t *corev1.PodTemplateSpec) any {
	var tree any
	if err := json.Unmarshal(mustJSON(t), &tree); err != nil {
		panic(err) // it was JSON a line ago
	}
	return tree
}

// sameButDefaults compares two JSON trees. What only stored has must be what the API server fills in there.
func sameButDefaults(wanted, stored any) bool {
	switch s := stored.(type) {
	case map[string]any:
		w, ok := wanted.(map[string]any)
		if !ok && wanted != nil {
			return false
		}
		for key := range w {
			if _, ok := s[key]; !ok && !empty(w[key]) {
				return false
			}
		}
		for key, value := range s {
			if freeForm[key] {
				if !reflect.DeepEqual(w[key], value) && (!empty(w[key]) || !empty(value)) {
					return false
				}
				continue
			}
			if w[key] == nil { // left out; or null, as Go writes the service of a gRPC probe
				if !empty(value) && !isDefault(key, value, w) && !sameButDefaults(nil, value) {
					return false
				}
				continue
			}
			if !sameButDefaults(w[key], value) {
				return false
			}
		}
		return wanted != nil || isDefaultOnly(s)
	case []any:
		w, _ := wanted.([]any)
		if len(w) != len(s) {
			return false
		}
		for i := range s {
			if !sameButDefaults(w[i], s[i]) {
				return false
			}
		}
		return true
	default:
		return reflect.DeepEqual(wanted, stored)
	}
}

// isDefaultOnly reports whether an object that was not written at all holds nothing but defaults.
func isDefaultOnly(object map[string]any) bool {
	for key, value := range object {
		if !empty(value) && !isDefault(key, value, nil) {
			return false
		}
	}
	return true
}

func empty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// freeForm are the fields whose keys people choose: nothing is filled in there, whatever it is called.
var freeForm = map[string]bool{
	"annotations":      true,
	"labels":           true,
	"limits":           true,
	"matchLabels":      true,
	"nodeSelector":     true,
	"options":          true,
	"overhead":         true,
	"volumeAttributes": true,
}

// podDefaults are the values that the API server gives to fields of a pod template that were left out, by the field's name
// (k8s.io/kubernetes/pkg/apis/core/v1/defaults.go). A name means the same wherever it occurs, but where two are listed either does.
var podDefaults = map[string][]any{
	"apiVersion":                    {"v1"}, // of a fieldRef
	"cachingMode":                   {"ReadWrite"},
	"defaultMode":                   {float64(0o644)},
	"dnsPolicy":                     {"ClusterFirst"},
	"enableServiceLinks":            {true},
	"expirationSeconds":             {float64(3600)}, // of a projected token
	"failureThreshold":              {float64(3)},
	"fsType":                        {"ext4", "xfs"},
	"initialDelaySeconds":           {float64(0)},
	"iscsiInterface":                {"default"},
	"keyring":                       {"/etc/ceph/keyring"},
	"kind":                          {"Shared"}, // of an Azure disk
	"mode":                          {"Filesystem"},
	"path":                          {"/"}, // of an HTTP probe
	"periodSeconds":                 {float64(10)},
	"pool":                          {"rbd"},
	"protocol":                      {"TCP"},
	"readOnly":                      {false},
	"restartPolicy":                 {"Always"},
	"schedulerName":                 {"default-scheduler"},
	"scheme":                        {"HTTP"},
	"service":                       {""}, // of a gRPC probe
	"storageMode":                   {"ThinProvisioned"},
	"successThreshold":              {float64(1)},
	"terminationGracePeriodSeconds": {float64(30)},
	"terminationMessagePath":        {"/dev/termination-log"},
	"terminationMessagePolicy":      {"File"},
	"timeoutSeconds":                {float64(1)},
	"type":                          {""}, // of a hostPath
	"user":                          {"admin"},
	"volumeMode":                    {"Filesystem"},
}

func isDefault(key string, value any, siblings map[string]any) bool {
	switch key {
	case "imagePullPolicy":
		image, _ := siblings["image"].(string)
		return value == defaultPullPolicy(image)
	case "pullPolicy": // of an image volume
		reference, _ := siblings["reference"].(string)
		return value == defaultPullPolicy(reference)
	case "hostPort": // with host network
		return value == siblings["containerPort"]
	case "requests": // a request that was left out is its limit
		return reflect.DeepEqual(value, siblings["limits"])
	}
	for _, d := range podDefaults[key] {
		if value == d {
			return true
		}
	}
	return false
}

// defaultPullPolicy is Always for a tag that moves, which is latest or none at all.
func defaultPullPolicy(image string) string {
	if strings.Contains(image, "@") {
		return string(corev1.PullIfNotPresent)
	}
	name := image[strings.LastIndex(image, "/")+1:]
	if _, tag, ok := strings.Cut(name, ":"); ok && tag != "latest" {
		return string(corev1.PullIfNotPresent)
	}
	return string(corev1.PullAlways)
}
