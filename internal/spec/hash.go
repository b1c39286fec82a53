package spec

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// PodHash is the label value that distinguishes the pods of one version from those of another: 32-bit FNV-1a over the
// template's JSON, in the alphabet that Kubernetes uses for generated names. collisions is status.collisionCount.
//
// The JSON follows k8s.io/api, so a new mandatory field there would change every hash; hash_test.go pins it.
func PodHash(template *corev1.PodTemplateSpec, collisions *int32) string {
	return encode(mustJSON(template), collisions)
}

// OtherPodHashes are the other names under which a ReplicaSet of this template may be known, besides [PodHash]: what older
// versions of upstream, and the Deployment controller, would have called it.
func OtherPodHashes(template *corev1.PodTemplateSpec, collisions *int32) iter.Seq[string] {
	return func(yield func(string) bool) {
		_ = yield(encode(withCreationTimestamp(template), collisions)) &&
			yield(encode([]byte(dump.ForHash(*template)), collisions))
	}
}

// StepHash identifies a list of steps; if it changes, the update restarts from the first step.
func StepHash(steps []v1alpha1.CanaryStep) string {
	if len(steps) == 0 {
		steps = nil // an empty list is none, as in the JSON that the API server keeps
	}
	return encode(mustJSON(steps), nil)
}

func encode(text []byte, collisions *int32) string {
	h := fnv.New32a()
	h.Write(text) // never fails
	if collisions != nil {
		var count [8]byte // four bytes of count and four zeros, because Argo Rollouts' buffer has eight
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		h.Write(count[:])
	}
	return rand.SafeEncodeString(strconv.FormatUint(uint64(h.Sum32()), 10))
}

// withCreationTimestamp is the template as k8s.io/api wrote it before 0.34: "creationTimestamp": null heads the metadata.
func withCreationTimestamp(template *corev1.PodTemplateSpec) []byte {
	var parts struct {
		Metadata json.RawMessage `json:"metadata"`
		Spec     json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(mustJSON(template), &parts); err != nil {
		panic(fmt.Sprintf("pod template does not survive its own JSON: %v", err))
	}
	metadata := []byte(`{"creationTimestamp":null`)
	if rest := parts.Metadata; len(rest) > len(`{}`) {
		metadata = append(append(metadata, ','), rest[1:]...)
	} else {
		metadata = append(metadata, '}')
	}
	text := append([]byte(`{"metadata":`), metadata...)
	text = append(append(text, `,"spec":`...), parts.Spec...)
	return append(text, '}')
}

// mustJSON marshals API types, which have no value that JSON cannot hold.
func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("marshal %T: %v", v, err))
	}
	return text
}
