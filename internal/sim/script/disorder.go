package script

import (
	"errors"
	"strconv"
	"time"
)

// crash arranges for the next pass to stop: "crash after 1 write".
func (s *Script) crash(args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("crash after 1 write")
	}
	n, err := strconv.Atoi(args[1])
	s.crashAfter = n
	return "", err
}

// staleView arranges for the next pass to see old objects: "stale rollout 1", "stale replicasets 2".
func (s *Script) staleView(args []string) (string, error) {
	n, err := strconv.Atoi(last(args))
	switch first(args) {
	case "rollout":
		s.stale.Rollout = n
	case "services":
		s.stale.Services = n
	case "routes":
		s.stale.Routes = n
	case "analyses":
		s.stale.AnalysisRuns = n
	case "experiments":
		s.stale.Experiments = n
	default:
		s.stale.ReplicaSets = n
	}
	return "", err
}

// deafen delays the delivery of the next change: "deaf 1m". What the controller does on its own until then is not delayed.
func (s *Script) deafen(args []string) (string, error) {
	d, err := time.ParseDuration(first(args))
	s.deaf = d
	return "", err
}

func (s *Script) nextDeafness() time.Duration {
	d := s.deaf
	s.deaf = 0
	return d
}
