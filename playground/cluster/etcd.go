package cluster

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

type etcdServer struct {
	// endpoint is what clients dial.
	endpoint string
	stop     func()
}

// startEtcd runs a single member that is reached through a unix socket in a private folder: etcd knows no users here, and
// over TCP every process of the machine could rewrite the cluster past the API server.
func startEtcd(ctx context.Context, dir *dataDir, log *os.File) (*etcdServer, error) {
	endpoint := url.URL{Scheme: "unix", Path: filepath.Join(dir.socketDir, "etcd.sock")}
	cfg := embed.NewConfig()
	cfg.Name = "playground"
	cfg.Dir = dir.path("etcd")
	cfg.ListenClientUrls = []url.URL{endpoint}
	// There are no peers, so nothing listens for them. The addresses that etcd advertises are left at their defaults: they must
	// be TCP, and nobody asks for them.
	cfg.ListenPeerUrls = nil
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	// Waiting for the disk is most of the time of a write. State that is removed in the end need not survive a power cut.
	cfg.UnsafeNoFsync = dir.temporary
	// The API server's caches learn from these how recent they are while nothing changes, as in kubeadm's clusters.
	cfg.WatchProgressNotifyInterval = 5 * time.Second
	// Zero, not the default, is what the library starts with: every request would count as slow.
	cfg.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	cfg.EnableGRPCGateway = false
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(zapcore.NewCore(
		zapcore.NewConsoleEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(log), zap.WarnLevel)))

	etcd, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, fmt.Errorf("start etcd: %w", err)
	}
	select {
	case <-etcd.Server.ReadyNotify():
		return &etcdServer{endpoint: endpoint.String(), stop: etcd.Close}, nil
	case err = <-etcd.Err():
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(readyTimeout):
		err = fmt.Errorf("not ready within %s", readyTimeout)
	}
	etcd.Close()
	return nil, fmt.Errorf("start etcd: %w", err)
}
