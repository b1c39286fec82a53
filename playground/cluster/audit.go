package cluster

import (
	"fmt"
	"os"
	"path/filepath"
)

// audit is where requests are logged, and what of them.
type audit struct {
	policyFile, logFile string
}

// auditPolicy keeps who did what to which object, once a request, without bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
`

// newAudit returns nil if there is to be no audit.
func newAudit(dir *dataDir, logFile string) (*audit, error) {
	if logFile == "" {
		return nil, nil
	}
	// The API server opens it at the first request; a path that cannot be written should be known before.
	file, err := os.OpenFile(logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	if logFile, err = filepath.Abs(logFile); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	policyFile := dir.path("audit-policy.yaml")
	if err := os.WriteFile(policyFile, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("audit policy: %w", err)
	}
	return &audit{policyFile: policyFile, logFile: logFile}, nil
}
