package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/sluice-delivery/sluice/internal/cli/live"
	"github.com/sluice-delivery/sluice/internal/spelling"
)

// inWords is an error in words for a user, one line for each thing that went wrong.
func inWords(err error) []string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, e := range joined.Unwrap() {
			lines = append(lines, inWords(e)...)
		}
		return lines
	}
	return []string{strings.Join(strings.Fields(explanation(err)), " ")}
}

func explanation(err error) string {
	var (
		request *url.Error
		dns     *net.DNSError
	)
	switch {
	case clientcmd.IsEmptyConfig(err):
		return "which cluster? There is no kubeconfig: set KUBECONFIG, or use --kubeconfig or --server"
	case withoutCRDs(err):
		return "this cluster does not know Rollouts: its CRDs are missing. Install them with: kubectl apply -f config/crd"
	case errors.As(err, &request) && errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing answers at %s: is the cluster up, and is it the one you mean (--context)?", server(request))
	case errors.As(err, &request) && errors.As(err, &dns):
		return fmt.Sprintf("the name of the cluster's server, %s, is not known: is it the cluster you mean (--context)?", dns.Name)
	}
	return cobraSuggestion(err.Error())
}

func server(e *url.Error) string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return e.URL
	}
	return u.Scheme + "://" + u.Host
}

// withoutCRDs reports whether it is the resource that is not found, not an object of it: the API server then answers with a page
// that no API made.
func withoutCRDs(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// missing adds to the error that an object does not exist which one may have been meant. Other errors it leaves as they are.
func missing(ctx context.Context, c live.Client, name string, err error) error {
	var answer *apierrors.StatusError
	if !apierrors.IsNotFound(err) || withoutCRDs(err) || !errors.As(err, &answer) || answer.ErrStatus.Details == nil {
		return err
	}
	k, known := kindOf(answer.ErrStatus.Details.Kind)
	if !known {
		return err
	}
	text := fmt.Sprintf("there is no %s '%s' in namespace '%s'", k.noun, name, c.Namespace)
	names, listErr := c.Names(ctx, k.resource)
	if listErr != nil {
		return errors.New(text)
	}
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("%s; did you mean '%s'?", text, near)
	}
	return fmt.Errorf("%s: is it in another one (-n)?", text)
}

// flagError suggests the flag that was meant.
func flagError(cmd *cobra.Command, err error) error {
	var wrong *pflag.NotExistError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near := spelling.Nearest(wrong.GetSpecifiedName(), names)
	if near == "" {
		return fmt.Errorf("%w; see '%s --help'", err, cmd.CommandPath())
	}
	return unknown("flag", "--"+wrong.GetSpecifiedName(), cmd.CommandPath(), []string{"--" + near})
}

func unknown(what, given, where string, near []string) error {
	text := fmt.Sprintf("unknown %s %q for %q", what, given, where)
	if len(near) > 0 {
		return fmt.Errorf("%s; did you mean %s?", text, strings.Join(near, " or "))
	}
	return fmt.Errorf("%s; see '%s --help'", text, where)
}

// cobraSuggestion makes one line of what cobra says about an unknown command.
func cobraSuggestion(text string) string {
	first, rest, found := strings.Cut(text, "\n\nDid you mean this?\n")
	if !found {
		return text
	}
	return first + "; did you mean " + strings.Join(strings.Fields(rest), " or ") + "?"
}
