package spec

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/sluice-delivery/sluice/api/v1alpha1"
)

// A template with everything that the API server fills something in for, and the same one as it stores it.
const written = `
metadata:
  labels: {app: web}
spec:
  serviceAccountName: web
  initContainers:
  - name: setup
    image: registry.example.com:5000/setup
  containers:
  - name: web
    image: web:v1
    ports:
    - containerPort: 80
    env:
    - name: NODE
      valueFrom: {fieldRef: {fieldPath: spec.nodeName}}
    resources:
      limits: {cpu: 100m, memory: 64Mi}
    readinessProbe:
      httpGet: {path: /, port: 80}
    livenessProbe:
      grpc: {port: 90}
    lifecycle:
      preStop: {httpGet: {path: /stop, port: 80}}
  - name: sidecar
    image: sidecar@sha256:0123456789abcdef
  volumes:
  - name: conf
    configMap: {name: conf}
  - name: secret
    secret: {secretName: secret}
  - name: host
    hostPath: {path: /tmp}
  - name: info
    downwardAPI:
      items:
      - path: labels
        fieldRef: {fieldPath: metadata.labels}
  - name: all
    projected:
      sources:
      - serviceAccountToken: {path: token}
  - name: empty
    emptyDir: {}
  - name: claim
    ephemeral:
      volumeClaimTemplate:
        spec:
          accessModes: [ReadWriteOnce]
          resources: {requests: {storage: 1Gi}}
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
`

const stored = `
metadata:
  creationTimestamp: null
  labels: {app: web, rollouts-pod-template-hash: abc}
spec:
  serviceAccountName: web
  serviceAccount: web
  restartPolicy: Always
  dnsPolicy: ClusterFirst
  schedulerName: default-scheduler
  terminationGracePeriodSeconds: 30
  securityContext: {}
  initContainers:
  - name: setup
    image: registry.example.com:5000/setup
    imagePullPolicy: Always
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    resources: {}
  containers:
  - name: web
    image: web:v1
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    ports:
    - containerPort: 80
      protocol: TCP
    env:
    - name: NODE
      valueFrom: {fieldRef: {apiVersion: v1, fieldPath: spec.nodeName}}
    resources:
      limits: {cpu: 100m, memory: 64Mi}
      requests: {cpu: 100m, memory: 64Mi}
    readinessProbe:
      httpGet: {path: /, port: 80, scheme: HTTP}
      timeoutSeconds: 1
      periodSeconds: 10
      successThreshold: 1
      failureThreshold: 3
    livenessProbe:
      grpc: {port: 90, service: ""}
      timeoutSeconds: 1
      periodSeconds: 10
      successThreshold: 1
      failureThreshold: 3
    lifecycle:
      preStop: {httpGet: {path: /stop, port: 80, scheme: HTTP}}
  - name: sidecar
    image: sidecar@sha256:0123456789abcdef
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
    resources: {}
  volumes:
  - name: conf
    configMap: {name: conf, defaultMode: 420}
  - name: secret
    secret: {secretName: secret, defaultMode: 420}
  - name: host
    hostPath: {path: /tmp, type: ""}
  - name: info
    downwardAPI:
      defaultMode: 420
      items:
      - path: labels
        fieldRef: {apiVersion: v1, fieldPath: metadata.labels}
  - name: all
    projected:
      defaultMode: 420
      sources:
      - serviceAccountToken: {path: token, expirationSeconds: 3600}
  - name: empty
    emptyDir: {}
  - name: claim
    ephemeral:
      volumeClaimTemplate:
        metadata: {creationTimestamp: null}
        spec:
          accessModes: [ReadWriteOnce]
          volumeMode: Filesystem
          resources: {requests: {storage: 1Gi}}
  topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: zone
    whenUnsatisfiable: DoNotSchedule
`

func parse(t *testing.T, text string) *corev1.PodTemplateSpec {
	t.Helper()
	out := &corev1.PodTemplateSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSameTemplateAfterDefaults(t *testing.T) {
	if !SameTemplate(parse(t, written), parse(t, stored)) {
		t.Error("a template as it was written and as the API server stored it count as two versions")
	}
	if !SameTemplate(parse(t, stored), parse(t, stored)) {
		t.Error("a template is not the same as itself")
	}
	if !SameTemplate(parse(t, written), parse(t, written)) {
		t.Error("a template without defaults is not the same as itself")
	}
}

// Each of these is another version, whichever of the two sides has it.
func TestDifferentTemplates(t *testing.T) {
	one := int64(1)
	for name, change := range map[string]func(*corev1.PodTemplateSpec){
		"another image":                func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Image = "web:v2" },
		"another pull policy":          func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].ImagePullPolicy = corev1.PullNever },
		"one more label":               func(p *corev1.PodTemplateSpec) { p.Labels["tier"] = "front" },
		"another label":                func(p *corev1.PodTemplateSpec) { p.Labels["app"] = "other" },
		"an annotation":                func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{"a": "b"} },
		"an empty annotation":          func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{"type": ""} },
		"an annotation like a default": func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{"protocol": "TCP"} },
		"a label like a default":       func(p *corev1.PodTemplateSpec) { p.Labels["scheme"] = "HTTP" },
		"one container less":           func(p *corev1.PodTemplateSpec) { p.Spec.Containers = p.Spec.Containers[:1] },
		"containers in another order": func(p *corev1.PodTemplateSpec) {
			c := p.Spec.Containers
			p.Spec.Containers = []corev1.Container{c[1], c[0]}
		},
		"an environment variable": func(p *corev1.PodTemplateSpec) { p.Spec.Containers[1].Env = []corev1.EnvVar{{Name: "A"}} },
		"a shorter grace period":  func(p *corev1.PodTemplateSpec) { p.Spec.TerminationGracePeriodSeconds = &one },
		"another probe period":    func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].ReadinessProbe.PeriodSeconds = 5 },
		"another probe port": func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].ReadinessProbe.HTTPGet.Port = intstr.FromInt32(81)
		},
		"a probe": func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[1].ReadinessProbe = tcpProbe()
		},
		"another request": func(p *corev1.PodTemplateSpec) { setRequest(p, "50m") },
		"another account": func(p *corev1.PodTemplateSpec) { p.Spec.ServiceAccountName = "other" },
		"an emptyDir in place of a map": func(p *corev1.PodTemplateSpec) {
			p.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}
		},
		"an emptyDir in memory": func(p *corev1.PodTemplateSpec) { p.Spec.Volumes[5].EmptyDir.Medium = corev1.StorageMediumMemory },
		"host network":          func(p *corev1.PodTemplateSpec) { p.Spec.HostNetwork = true },
		"a security context":    func(p *corev1.PodTemplateSpec) { p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &one} },
		"no service links": func(p *corev1.PodTemplateSpec) {
			off := false
			p.Spec.EnableServiceLinks = &off
		},
	} {
		t.Run(name, func(t *testing.T) {
			changed := parse(t, written)
			change(changed)
			if SameTemplate(changed, parse(t, stored)) {
				t.Error("a changed wish counts as the stored version")
			}
			changed = parse(t, stored)
			change(changed)
			if SameTemplate(parse(t, written), changed) {
				t.Error("a changed ReplicaSet counts as the wanted version")
			}
		})
	}
}

func tcpProbe() *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(80)}}}
}

func setRequest(p *corev1.PodTemplateSpec, cpu string) {
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
}

func TestSameTemplateDoesNotChangeWhatItReads(t *testing.T) {
	a, b := parse(t, written), parse(t, stored)
	SameTemplate(a, b)
	if b.Labels[v1alpha1.PodTemplateHashLabel] != "abc" || b.Spec.DeprecatedServiceAccount != "web" {
		t.Error("the stored template was changed")
	}
	empty := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}}}
	if !SameTemplate(empty, &corev1.PodTemplateSpec{}) {
		t.Error("no labels and none are two things")
	}
}
