package fair

// Shares divides something limited, such as workers or bytes, among tenants.
//
// A tenant may hold at most Factor times what remains free. So one that asks for everything gets Factor/(Factor+1) of it, two get
// Factor/(2·Factor+1) each, and there is room for the next tenant without a reservation for each that exists. (Switches share their
// buffers among ports like this: "dynamic thresholds", Choudhury and Hahne, 1998.)
//
// A Shares is not safe for concurrent use.
type Shares struct {
	total, factor, used int64
	held                map[string]int64
}

// NewShares divides total. A factor of 0 leaves a single tenant without a limit of its own.
func NewShares(total, factor int64) *Shares {
	return &Shares{total: total, factor: factor, held: map[string]int64{}}
}

// Fits reports whether a tenant may take n more. The first thing that a tenant takes needs only to be free.
func (s *Shares) Fits(tenant string, n int64) bool {
	free := s.total - s.used - n
	holds := s.held[tenant] + n
	return free >= 0 && (s.factor == 0 || holds == n || holds <= s.factor*free)
}

// Take takes n for a tenant if it fits, and reports whether it did.
func (s *Shares) Take(tenant string, n int64) bool {
	if !s.Fits(tenant, n) {
		return false
	}
	s.used += n
	s.held[tenant] += n
	return true
}

// Give returns n that a tenant took.
func (s *Shares) Give(tenant string, n int64) {
	s.used -= n
	s.held[tenant] -= n
	if s.held[tenant] == 0 {
		delete(s.held, tenant)
	}
}
