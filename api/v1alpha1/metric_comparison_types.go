package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Comparison compares the canary with a baseline measured at the same time: the stable version, or another version of an
// Experiment. Each signal is two series of values, one for each of them. The Mann-Whitney U test decides whether they differ
// by more than chance. The result is a score from 0 to 100 over all signals.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.marginal) || self.marginal <= (has(self.pass) ? self.pass : 75)`,message=`marginal must not be more than pass, which defaults to 75`,fieldPath=`.marginal`
type Comparison struct {
	// What to compare: 1 to 20 signals. Leave it out with golden, which is then the only signal.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	Signals []ComparisonSignal `json:"signals,omitempty"`

	// Weights of groups of signals. A group that is not listed has weight 1.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	Groups []ComparisonGroup `json:"groups,omitempty"`

	// How far back the series reach, such as "10m". Defaults to 10m, at most 250 times step.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Window DurationString `json:"window,omitempty"`

	// Time between two values of a series, such as "30s". Defaults to 30s, and to 1m with golden. The values are independent
	// only if this is at least as long as the range that queries average over, as in rate(x[1m]).
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Step DurationString `json:"step,omitempty"`

	// Whether the series may reach back to before the analysis started, to an earlier step with the same canary. Defaults to
	// false.
	// +optional
	BeforeRun bool `json:"beforeRun,omitempty"`

	// Number of values that each of the two series must have, 5 to 250. Defaults to 10.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=250
	MinSamples *int32 `json:"minSamples,omitempty"`

	// How certain a difference must be to count, in percent: 98, or "99.9". At least 50, less than 100. Defaults to 98: if
	// both versions behave alike, at most 2 % of the evaluations of a signal find a difference.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 50 && self < 100 : (self.matches('^[5-9][0-9](\\.[0-9]{1,6})?$') || self.contains('{{'))`,message=`confidence is a percentage of at least 50 and less than 100, such as 98 or "99.9"`
	Confidence *intstr.IntOrString `json:"confidence,omitempty"`

	// Lowest score that passes, 0 to 100. Defaults to 75.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Pass *int32 `json:"pass,omitempty"`

	// Lowest score that is inconclusive, 0 to 100. Lower scores fail. Defaults to 50, or to pass if that is less.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Marginal *int32 `json:"marginal,omitempty"`
}

// ComparisonSignal is one signal to compare.
type ComparisonSignal struct {
	// Name of the signal, unique in the metric: letters, digits, "-", "_" and ".".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	Name string `json:"name"`

	// Query for the canary. It must return one series.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Canary string `json:"canary"`

	// Query for the baseline. It must return one series.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Baseline string `json:"baseline"`

	// Which change is bad: Increase, Decrease or Either. Defaults to Either.
	// +optional
	// +kubebuilder:validation:Enum=Increase;Decrease;Either
	Direction ComparisonDirection `json:"direction,omitempty"`

	// The largest acceptable difference between the means of the two series, however certain it is: a percentage of the
	// baseline's mean, such as "10%", or a number in the signal's unit, such as "0.005". Defaults to "10%".
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^[0-9]{1,12}(\\.[0-9]{1,12})?%?$')`,message=`tolerance is a percentage such as "10%", or a number such as "0.005"`
	Tolerance string `json:"tolerance,omitempty"`

	// Whether the measurement fails if this signal fails, whatever the score. Defaults to false.
	// +optional
	Critical bool `json:"critical,omitempty"`

	// Group of the signal. Groups are weighted against each other, and the signals in a group count equally. Signals without
	// a group are in one group together.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]*$`
	Group string `json:"group,omitempty"`

	// How to count the signal if one of the series has too few values: Successful, Failed, Ignored, which leaves it out of
	// the score, or Inconclusive, which makes the measurement inconclusive. Defaults to Inconclusive.
	// +optional
	// +kubebuilder:validation:Enum=Successful;Failed;Inconclusive;Ignored
	WhenNoData ComparisonNoData `json:"whenNoData,omitempty"`
}

// ComparisonDirection is which change of a signal is bad.
type ComparisonDirection string

// The directions of ComparisonSignals.
const (
	ComparisonIncrease ComparisonDirection = "Increase"
	ComparisonDecrease ComparisonDirection = "Decrease"
	ComparisonEither   ComparisonDirection = "Either"
)

// ComparisonNoData is how to count a signal that has too few values.
type ComparisonNoData string

// How to count ComparisonSignals that have too few values.
const (
	ComparisonNoDataSuccessful   ComparisonNoData = "Successful"
	ComparisonNoDataFailed       ComparisonNoData = "Failed"
	ComparisonNoDataInconclusive ComparisonNoData = "Inconclusive"
	ComparisonNoDataIgnored      ComparisonNoData = "Ignored"
)

// ComparisonGroup is the weight of a group of signals.
type ComparisonGroup struct {
	// Name of the group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	Name string `json:"name"`

	// Weight of the group relative to the others, 0 to 1000.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Weight int32 `json:"weight"`
}
