package cloudwatch

import (
	"context"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-delivery/sluice/internal/metric"
	"github.com/sluice-delivery/sluice/internal/metric/aws"
	"github.com/sluice-delivery/sluice/internal/metric/metrictest"
	"github.com/sluice-delivery/sluice/internal/metric/server"
)

func TestTranscripts(t *testing.T) {
	metrictest.Run(t, "testdata", func(w metrictest.World) metric.Provider {
		now := clocktesting.NewFakePassiveClock(metrictest.Now)
		return Provider{Clock: now, Network: w.Network, Account: &aws.Account{Clock: now, Load: func(context.Context, aws.Identity) (sdk.Config, error) {
			return sdk.Config{Region: w.Env("AWS_REGION"), Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "wJalrXUtnFEMI", "")}, nil
		}}}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(200, `<GetMetricDataResponse><GetMetricDataResult><MetricDataResults><member><Id>a</Id><Values><member>1</member></Values></member></MetricDataResults></GetMetricDataResult></GetMetricDataResponse>`)
	f.Add(400, `<ErrorResponse><Error><Code>x</Code></Error></ErrorResponse>`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		var all results
		if _, err := all.read(server.Answer{Status: status, Body: []byte(body)}); err == nil {
			if _, err := all.reading(metric.Request{}, "x"); err != nil {
				t.Error(err)
			}
		}
	})
}
