package login

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/sluice-delivery/sluice/internal/cli/live"
)

// Mapping is how claims become a user and groups of the cluster. Choose the same as the API server has, if it knows the provider, so that a
// person is the same in the dashboard and with kubectl.
type Mapping struct {
	UserClaim, UserPrefix    string
	GroupClaim, GroupsPrefix string
	// Groups are those that are passed on, with their prefix. The dashboard's role names the same: it can impersonate no others.
	Groups []string
}

// system begins the names that Kubernetes gives to its own users and groups. No provider may make one of them of a person.
const system = "system:"

// person is the user and the groups that claims stand for.
func (m Mapping) person(claims map[string]any) (user string, groups []string, err error) {
	name, _ := claims[m.UserClaim].(string)
	if name == "" {
		return "", nil, fmt.Errorf("the provider sent no claim %q that names you", m.UserClaim)
	}
	if verified, ok := claims["email_verified"].(bool); m.UserClaim == "email" && ok && !verified {
		return "", nil, errors.New("the provider says that your email address has not been verified")
	}
	user = m.UserPrefix + name
	if strings.HasPrefix(user, system) {
		return "", nil, fmt.Errorf("the user %q would be one of Kubernetes itself", user)
	}
	for _, group := range texts(claims[m.GroupClaim]) {
		group = m.GroupsPrefix + group
		if slices.Contains(m.Groups, group) && !strings.HasPrefix(group, system) {
			groups = append(groups, group)
		}
	}
	slices.Sort(groups)
	return user, slices.Compact(groups), nil
}

// texts are the values of a claim that is one or several.
func texts(claim any) []string {
	switch c := claim.(type) {
	case string:
		return []string{c}
	case []any:
		var all []string
		for _, v := range c {
			if text, ok := v.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// Requests of one person to the API server.
const (
	qps   = 50
	burst = 100
)

// impersonating is a client with the rights of a user.
func impersonating(base *rest.Config, user string, groups []string) (live.Client, error) {
	c := rest.CopyConfig(base)
	c.QPS, c.Burst = qps, burst
	c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
	client, err := dynamic.NewForConfig(c)
	return live.Client{Interface: client}, err
}

// bearing is a client with the rights of a token, and none of the dashboard's own.
func bearing(base *rest.Config, token string) (live.Client, error) {
	c := rest.AnonymousClientConfig(base)
	c.QPS, c.Burst = qps, burst
	c.BearerToken = token
	client, err := dynamic.NewForConfig(c)
	return live.Client{Interface: client}, err
}
