package traffic

// Standing is what the controllers behind an object say about it as it is now. The zero value: they have put it into force, or nobody is asked.
type Standing struct {
	// Awaited is what they have not said yet, Refused why the object is not in force as it is.
	Awaited, Refused string
	// Silent: they have never said anything about the object.
	Silent bool
}
