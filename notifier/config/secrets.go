package config

import (
	"regexp"

	"gopkg.in/yaml.v3"
)

var secretName = regexp.MustCompile(`[$][\w-]+`)

// withSecrets fills values of a Secret into the strings of a YAML document. A name that the Secret does not have stays as it is.
func withSecrets(text string, secrets map[string][]byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	fill(&document, secrets)
	return yaml.Marshal(&document)
}

func fill(node *yaml.Node, secrets map[string][]byte) {
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" {
		node.Value = secretName.ReplaceAllStringFunc(node.Value, func(name string) string {
			if value, ok := secrets[name[1:]]; ok {
				return string(value)
			}
			return name
		})
	}
	for _, child := range node.Content {
		fill(child, secrets)
	}
}
