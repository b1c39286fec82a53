// Package kayenta measures by a judgment of Kayenta, which compares the metrics of the new version with those of the old one:
//
//	Measure   finds the configuration by its name, and starts the comparison
//	Resume    asks every 15 seconds whether there is a score
package kayenta
