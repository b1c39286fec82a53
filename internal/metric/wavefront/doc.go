// Package wavefront measures by a query to Wavefront (VMware Aria Operations for Applications): of each series the point nearest to now.
package wavefront
