package aws

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"k8s.io/utils/clock"
)

// Identity is as whom a request is signed, and for which region. What is empty comes from the controller's surroundings.
type Identity struct{ Region, Profile, Role string }

// mostIdentities is how many of them are remembered.
const mostIdentities = 100

// Account remembers credentials until they expire.
type Account struct {
	Clock clock.PassiveClock
	// Load finds the configuration of an identity; nil for the SDK's default chain.
	Load func(context.Context, Identity) (sdk.Config, error)

	mu    sync.Mutex
	known map[Identity]sdk.Config
}

// region is how a region is written. What is written otherwise could name another server.
var region = regexp.MustCompile(`^[a-z]{2,4}(-[a-z0-9]{1,16}){2,4}$`)

// Region is the region of an identity.
func (a *Account) Region(ctx context.Context, i Identity) (string, error) {
	c, err := a.config(ctx, i)
	if err != nil {
		return "", err
	}
	return c.Region, nil
}

// Sign signs a request to a service.
func (a *Account) Sign(r *http.Request, body []byte, service string, i Identity) error {
	ctx := r.Context()
	c, err := a.config(ctx, i)
	if err != nil {
		return err
	}
	credentials, err := c.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("credentials of AWS: %w", err)
	}
	for name, values := range r.Header { // it would be signed, and is not sent
		if len(values) == 0 {
			delete(r.Header, name)
		}
	}
	sum := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), service, c.Region, a.Clock.Now())
}

// Domain is where the services of a region are.
func Domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return region + ".amazonaws.com.cn"
	}
	return region + ".amazonaws.com"
}

func (a *Account) config(ctx context.Context, i Identity) (sdk.Config, error) {
	a.mu.Lock()
	c, ok := a.known[i]
	a.mu.Unlock()
	if ok {
		return c, nil
	}
	load := a.Load
	if load == nil {
		load = chain
	}
	c, err := load(ctx, i)
	switch {
	case err != nil:
		return c, fmt.Errorf("configuration of AWS: %w", err)
	case c.Region == "":
		return c, errors.New("there is no AWS region: set it in the metric, or AWS_REGION in the controller's environment")
	case !region.MatchString(c.Region):
		return c, fmt.Errorf("%q is not a region of AWS: write for example eu-west-1", c.Region)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= mostIdentities {
		a.known = map[Identity]sdk.Config{}
	}
	a.known[i] = c
	return c, nil
}

// chain finds credentials like all programs that use AWS do, and takes on a role with them where there is one.
func chain(ctx context.Context, i Identity) (sdk.Config, error) {
	if i.Region != "" && !region.MatchString(i.Region) { // before it becomes part of the address that is asked for a role
		return sdk.Config{}, fmt.Errorf("%q is not a region: write for example eu-west-1", i.Region)
	}
	var options []func(*config.LoadOptions) error
	if i.Region != "" {
		options = append(options, config.WithRegion(i.Region))
	}
	if i.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(i.Profile))
	}
	c, err := config.LoadDefaultConfig(ctx, options...)
	if err == nil && i.Role != "" {
		c.Credentials = sdk.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(c), i.Role))
	}
	return c, err
}
