package script

import (
	"strconv"
	"time"
)

// restart reads "restart", which is now, or "restart in 1h".
func (s *Script) restart(args []string) (string, error) {
	at := s.World.Now()
	if len(args) > 0 {
		d, err := time.ParseDuration(last(args))
		if err != nil {
			return "", err
		}
		at = at.Add(d)
	}
	s.World.Restart(at)
	return "", nil
}

// budget reads "budget 3" or "budget none".
func (s *Script) budget(args []string) (string, error) {
	if last(args) == "none" {
		s.World.SetBudget(0)
		return "", nil
	}
	n, err := strconv.Atoi(last(args))
	s.World.SetBudget(n)
	return "", err
}
