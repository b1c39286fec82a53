package config_test

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/internal/playtest"
)

// nonroot is the user in the images.
const nonroot = 65532

// The image of the dashboard, as far as there can be one without a registry: its program is built from what the Dockerfile copies, by the command
// that it has, needs no library, and serves as the image's user, with the arguments of config/dashboard, in a file system that holds nothing else
// and cannot be written to.
func TestTheImageOfTheDashboardRuns(t *testing.T) {
	ns := playtest.New(t)
	objects := kustomize(t, ns, "dashboard")
	apply(t, ns, objects)
	root := t.TempDir()
	program := filepath.Join(root, "sluice-dashboard")
	buildByDockerfile(t, "Dockerfile.dashboard", "/sluice-dashboard", program)
	needsNoLibrary(t, program)
	if out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput(); err != nil || string(out) != "v1.2.3\n" {
		t.Errorf("it says it is %q: %v", out, err)
	}

	env := mountServiceAccount(t, ns, root)
	seal(t, root)
	before := files(t, root)
	addr := "127.0.0.1:" + strconv.Itoa(ns.FreePort())
	cmd := exec.CommandContext(t.Context(), "/sluice-dashboard", append(arguments(t, objects), "--listen="+addr)...)
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.SysProcAttr = slices.Concat(env, []string{"GOMEMLIMIT=230MiB"}), "/", os.Stderr, contained(root)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the program as user %d in a folder of its own: %v", nonroot, err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended if all went well
	if uid := owner(t, cmd.Process.Pid); os.Getuid() == 0 && uid != nonroot {
		t.Errorf("it runs as user %d", uid)
	}
	answered(t, ns, addr, "/readyz", "", http.StatusOK)
	answered(t, ns, addr, "/rollouts/", "", http.StatusUnauthorized)
	account := viewer(t, ns)
	answered(t, ns, addr, "/rollouts/?namespace="+ns.Name, account, http.StatusOK)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("asked to end, it says %v", err)
	}
	if after := files(t, root); !slices.Equal(after, before) {
		t.Errorf("it has left %q, where there was %q", after, before)
	}
}

// buildByDockerfile copies what a Dockerfile copies, and runs its command, whose result is put elsewhere.
func buildByDockerfile(t *testing.T, file, result, program string) {
	t.Helper()
	text := strings.ReplaceAll(contents(t, filepath.Join(playtest.Root(), file)), "\\\n", " ")
	build, _, _ := strings.Cut(text, "FROM gcr.io/")
	source := t.TempDir()
	for _, line := range regexp.MustCompile(`(?m)^COPY (.+)$`).FindAllStringSubmatch(build, -1) {
		words := strings.Fields(line[1])
		for _, from := range words[:len(words)-1] {
			copyInto(t, from, filepath.Join(source, from))
		}
	}
	run := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 .*go build .*)$`).FindStringSubmatch(build)
	if run == nil || !strings.Contains(run[1], "-o "+result+" ") {
		t.Fatalf("%s does not build %s without cgo", file, result)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(run[1], "-o "+result+" ", "-o "+program+" ", 1))
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=auto", "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "VERSION=v1.2.3")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", run[1], err, out)
	}
}

func copyInto(t *testing.T, from, to string) {
	t.Helper()
	from = filepath.Join(playtest.Root(), from)
	info, err := os.Stat(from)
	if err != nil {
		t.Fatal(err)
	}
	if info.IsDir() {
		err = os.CopyFS(to, os.DirFS(from))
	} else {
		err = os.WriteFile(to, []byte(contents(t, from)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func needsNoLibrary(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	libraries, err := f.ImportedLibraries()
	if err != nil || len(libraries) > 0 {
		t.Errorf("the program needs %q: %v", libraries, err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program needs a loader, which distroless/static does not have")
		}
	}
}

// mountServiceAccount puts there what the kubelet mounts into a pod, and returns the variables that it sets.
func mountServiceAccount(t *testing.T, ns *playtest.Namespace, root string) (env []string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", ns.KubeconfigOf("argo-rollouts/argo-rollouts-dashboard"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(root, "var/run/secrets/kubernetes.io/serviceaccount")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"token": config.BearerToken, "ca.crt": string(config.CAData), "namespace": "argo-rollouts"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	return []string{"KUBERNETES_SERVICE_HOST=" + server.Hostname(), "KUBERNETES_SERVICE_PORT=" + server.Port()}
}

// seal lets nobody write there until the test ends.
func seal(t *testing.T, root string) {
	t.Helper()
	folders := map[string]fs.FileMode{}
	if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders[path] = 0o555
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "sluice-dashboard"), 0o555); err != nil {
		t.Fatal(err)
	}
	set := func(mode fs.FileMode) {
		for _, path := range slices.Sorted(maps.Keys(folders)) {
			if err := os.Chmod(path, mode); err != nil {
				t.Error(err)
			}
		}
	}
	set(0o555)
	t.Cleanup(func() { set(0o755) })
}

func files(t *testing.T, root string) (all []string) {
	t.Helper()
	if err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// contained is how a process is started that has this root and is the images' user: by root, or else in a user namespace of its own.
func contained(root string) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nonroot, Gid: nonroot, NoSetGroups: os.Getuid() != 0}}
	if os.Getuid() != 0 {
		a.Cloneflags = syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: nonroot, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: nonroot, HostID: os.Getgid(), Size: 1}}
	}
	return a
}

func owner(t *testing.T, pid int) uint32 {
	t.Helper()
	info, err := os.Stat("/proc/" + strconv.Itoa(pid))
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Uid
}

// viewer is the token of a ServiceAccount that may list Rollouts.
func viewer(t *testing.T, ns *playtest.Namespace) (token string) {
	t.Helper()
	ns.As("viewer", rbacv1.PolicyRule{Verbs: []string{"list"}, APIGroups: []string{"argoproj.io"}, Resources: []string{"rollouts"}})
	config, err := clientcmd.BuildConfigFromFlags("", ns.KubeconfigOf("viewer"))
	if err != nil {
		t.Fatal(err)
	}
	return config.BearerToken
}

// answered waits until the dashboard answers so.
func answered(t *testing.T, ns *playtest.Namespace, addr, path, token string, want int) {
	t.Helper()
	ns.WaitUntil("an answer of "+path, func() error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, http.NoBody)
		if err != nil {
			return err
		}
		r.Host = "rollouts.example.com"
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		client := http.Client{Timeout: 10 * time.Second}
		w, err := client.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = w.Body.Close() }()
		if w.StatusCode != want {
			return fmt.Errorf("it answers %s", w.Status)
		}
		return nil
	})
}
