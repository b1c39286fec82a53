package lint

import (
	"net/url"
	"slices"
	"strings"
)

// The parts of a SARIF 2.1.0 log that Sluice writes (OASIS Standard, 27 March 2020).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            Rule               `json:"id"`
		Description   sarifText          `json:"shortDescription"`
		Help          sarifText          `json:"help"`
		Configuration sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level Severity `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		Rule         Rule               `json:"ruleId"`
		Index        int                `json:"ruleIndex"`
		Level        Severity           `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

// sarifOf is the result as a SARIF log. Findings that an annotation silences are in it as suppressed results.
func sarifOf(r Result, version string) sarifLog {
	driver := sarifDriver{Name: "sluice", Version: version, Rules: []sarifRule{}}
	for _, d := range Rules() {
		driver.Rules = append(driver.Rules, sarifRule{
			ID: d.Name, Description: sarifText{plain(d.About)}, Help: sarifText{plain(d.Fix)}, Configuration: sarifConfiguration{d.Severity},
		})
	}
	results := []sarifResult{}
	for _, f := range r.Findings {
		results = append(results, sarifResultOf(f, driver.Rules))
	}
	for _, s := range r.Silenced {
		result := sarifResultOf(s.Finding, driver.Rules)
		result.Suppressions = []sarifSuppression{{Kind: "inSource", Justification: s.Reason}}
		results = append(results, result)
	}
	return sarifLog{
		Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{{Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results}},
	}
}

func sarifResultOf(f Finding, rules []sarifRule) sarifResult {
	result := sarifResult{
		Rule: f.Rule, Index: slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == f.Rule }),
		Level: f.Severity, Message: sarifText{f.text()},
	}
	at := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{"stdin"}, Region: &sarifRegion{f.Line}}}
	switch {
	case f.Source != "": // the line is not one of this file
		at.Physical = sarifPhysical{Artifact: sarifArtifact{uri(f.Source)}}
	case f.File != Stdin:
		at.Physical.Artifact.URI = uri(f.File)
	}
	if f.Object != "" {
		at.Logical = []sarifLogical{{Name: f.Object, Kind: "object"}}
	}
	result.Locations = []sarifLocation{at}
	return result
}

// uri is a path as a reference in the sense of RFC 3986.
func uri(path string) string { return (&url.URL{Path: strings.ReplaceAll(path, `\`, "/")}).String() }

// plain is a text of Markdown without its marks.
func plain(markdown string) string { return strings.ReplaceAll(markdown, "`", "") }
