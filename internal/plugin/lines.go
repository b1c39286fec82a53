package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"sync"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"

	"github.com/sluice-delivery/sluice/internal/clean"
)

const (
	// longestLine is how much of a line is kept.
	longestLine = 1024
	// linesPerSecond and linesAtOnce are how much a plugin may say.
	linesPerSecond, linesAtOnce = 20, 200
)

// lines puts what a plugin prints into our log, as far as it is not too much.
type lines struct {
	log   *slog.Logger
	limit *rate.Limiter

	mu      sync.Mutex
	dropped int
}

func newLines(log *slog.Logger, id ID) *lines {
	return &lines{log: log.With("plugin", id.Name, "kind", string(id.Kind)), limit: rate.NewLimiter(linesPerSecond, linesAtOnce)}
}

// add puts a line into the log.
func (l *lines) add(level slog.Level, text string, attributes ...any) {
	l.mu.Lock()
	if !l.limit.Allow() {
		l.dropped++
		l.mu.Unlock()
		return
	}
	if l.dropped > 0 {
		attributes = append(attributes, "dropped", l.dropped)
		l.dropped = 0
	}
	l.mu.Unlock()
	l.log.Log(context.Background(), level, "plugin: "+short(text), attributes...)
}

// short is a text that a plugin chose, as far as it is shown.
func short(text string) string {
	if len(text) > longestLine {
		text = text[:longestLine] + "…"
	}
	return clean.Text(text)
}

// read takes the lines of a stream until it ends. The rest of a long line is thrown away.
func (l *lines) read(stream string, from io.Reader) {
	reader := bufio.NewReaderSize(from, 4*longestLine)
	for {
		line, cut, err := reader.ReadLine()
		if err != nil {
			return
		}
		text := string(line)
		for cut && err == nil {
			_, cut, err = reader.ReadLine()
		}
		if text != "" {
			l.add(slog.LevelInfo, text, "stream", stream)
		}
	}
}

// logger is where go-plugin puts what a process prints on stderr, and what it has to say itself.
func (l *lines) logger() hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Output: l, JSONFormat: true, Level: hclog.Debug, DisableTime: true})
}

// Write takes one message of go-plugin's logger. Those that carry the name of a module are the plugin's.
func (l *lines) Write(message []byte) (int, error) {
	var m struct {
		Level   string `json:"@level"`
		Message string `json:"@message"`
		Module  string `json:"@module"`
	}
	_ = json.Unmarshal(message, &m) // the logger wrote it
	if m.Message == "" {
		return len(message), nil
	}
	level := slog.LevelDebug
	switch {
	case m.Level == "error" && m.Module != "":
		level = slog.LevelError
	case m.Level == "warn":
		level = slog.LevelWarn
	case m.Module != "", m.Level == "info":
		level = slog.LevelInfo
	}
	l.add(level, m.Message)
	return len(message), nil
}
