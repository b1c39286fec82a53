package prometheus

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"golang.org/x/oauth2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/aws"
	"github.com/sluice-delivery/sluice/internal/metric/google"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider {
		now := clocktesting.NewFakePassiveClock(metrictest.Now)
		return Provider{
			Clock: now, Network: w.Network,
			AWS: &aws.Account{Clock: now, Load: func(_ context.Context, i aws.Identity) (sdk.Config, error) {
				return sdk.Config{Region: i.Region, Credentials: credentials.NewStaticCredentialsProvider("AKID-"+i.Profile+i.Role, "wJalrXUtnFEMI", "session")}, nil
			}},
			Google: &google.Account{Find: func(_ context.Context, scopes ...string) (oauth2.TokenSource, error) {
				return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: "token-for-" + scopes[0]}), nil
			}},
		}
	})
}
