package cluster

import (
	"fmt"
	stdlog "log"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// openLog sends what all components log to one file, so that the terminal is left to the user. The file stays open until
// the process ends: components log to the very last.
func openLog(path string, verbosity int) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log file: %w", err)
	}
	config := textlogger.NewConfig(textlogger.Output(file), textlogger.Verbosity(verbosity))
	klog.SetLoggerWithOptions(textlogger.NewLogger(config), klog.ContextualLogger(true))
	stdlog.SetOutput(file)
	// The controllers use beta APIs knowingly.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return file, nil
}
