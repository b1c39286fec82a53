package v1alpha1

import "k8s.io/apimachinery/pkg/util/intstr"

// Comparison judges the canary by a baseline that was measured at the same time: the stable version, or another version of an Experiment. Each
// signal is a series of values of both. The test of Mann and Whitney says whether they differ by more than chance, and all signals together
// make a score from 0 to 100: the result.
//
// +kubebuilder:validation:XValidation:rule=`!has(self.marginal) || self.marginal <= (has(self.pass) ? self.pass : 75)`,message=`marginal must not be more than pass, which defaults to 75`,fieldPath=`.marginal`
type Comparison struct {
	// What to compare: 1 to 20 signals. Left out with golden, which is the one signal then.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	Signals []ComparisonSignal `json:"signals,omitempty"`

	// How much groups of signals count. A group that is not listed has weight 1.
	// +optional
	// +kubebuilder:validation:MaxItems=20
	// +listType=map
	// +listMapKey=name
	Groups []ComparisonGroup `json:"groups,omitempty"`

	// How far back the series reach, such as "10m". Defaults to 10m. At most 250 times step.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Window DurationString `json:"window,omitempty"`

	// Time between two values of a series, such as "30s". Defaults to 30s, and to 1m with golden. Values are only independent if this is at least as long as the
	// range that queries average over, as in rate(x[1m]).
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^\\+?(0|(([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$')`,message=`must be a length of time with units h, m, s and ms, such as 30s, 5m or 1h30m; a day is 24h`
	Step DurationString `json:"step,omitempty"`

	// Whether the series may reach back to before the analysis began, to an earlier step with the same canary. Defaults to false.
	// +optional
	BeforeRun bool `json:"beforeRun,omitempty"`

	// Number of values that each of the two series must have. Defaults to 10.
	// +optional
	// +kubebuilder:validation:Minimum=5
	// +kubebuilder:validation:Maximum=250
	MinSamples *int32 `json:"minSamples,omitempty"`

	// How certain a difference must be to count, in percent: 98, or "99.9". At least 50, less than 100. Defaults to 98: if both versions
	// behave alike, one judgment of a signal in 50 at most says otherwise.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`type(self) == int ? self >= 50 && self < 100 : (self.matches('^[5-9][0-9](\\.[0-9]{1,6})?$') || self.contains('{{'))`,message=`confidence is a percentage of at least 50 and less than 100, such as 98 or "99.9"`
	Confidence *intstr.IntOrString `json:"confidence,omitempty"`

	// Lowest score with which a measurement passes. Defaults to 75.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Pass *int32 `json:"pass,omitempty"`

	// Lowest score with which a measurement is inconclusive. With less, it fails. Defaults to 50, or to pass if that is less.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Marginal *int32 `json:"marginal,omitempty"`
}

// ComparisonSignal is one thing that is compared.
type ComparisonSignal struct {
	// Name of the signal, unique in the metric: letters, digits, "-", "_" and ".".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	Name string `json:"name"`

	// Query for the canary. It must give one series.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Canary string `json:"canary"`

	// Query for the baseline. It must give one series.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=8192
	Baseline string `json:"baseline"`

	// Which change is bad: Increase, Decrease or Either. Defaults to Either.
	// +optional
	// +kubebuilder:validation:Enum=Increase;Decrease;Either
	Direction ComparisonDirection `json:"direction,omitempty"`

	// The largest difference between the means of the two series that is not bad, however certain it is: a percentage of the
	// baseline's mean, such as "10%", or a number in the signal's unit, such as "0.005". Defaults to "10%".
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule=`size(self) == 0 || self.contains('{{') || self.matches('^[0-9]{1,12}(\\.[0-9]{1,12})?%?$')`,message=`tolerance is a percentage such as "10%", or a number such as "0.005"`
	Tolerance string `json:"tolerance,omitempty"`

	// Whether the measurement fails if this signal does, whatever the score of the others. Defaults to false.
	// +optional
	Critical bool `json:"critical,omitempty"`

	// Group of the signal. Groups count by their weights; signals of a group count alike. Defaults to one group for all signals that
	// name none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]*$`
	Group string `json:"group,omitempty"`

	// How the signal counts if one of the series has too few values: Successful, Failed, Ignored, which leaves it out of the score, or
	// Inconclusive, which leaves the measurement open. Defaults to Inconclusive.
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

// ComparisonNoData is how a signal counts that has too few values.
type ComparisonNoData string

// How ComparisonSignals count that have too few values.
const (
	ComparisonNoDataSuccessful   ComparisonNoData = "Successful"
	ComparisonNoDataFailed       ComparisonNoData = "Failed"
	ComparisonNoDataInconclusive ComparisonNoData = "Inconclusive"
	ComparisonNoDataIgnored      ComparisonNoData = "Ignored"
)

// ComparisonGroup is how much a group of signals counts.
type ComparisonGroup struct {
	// Name of the group.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9._-]+$`
	Name string `json:"name"`

	// How much the group counts, relative to the others: 0 to 1000.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Weight int32 `json:"weight"`
}
