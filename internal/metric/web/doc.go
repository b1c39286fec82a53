// Package web measures by an HTTP request. The value is what jsonPath finds in the answer, or the whole answer as a text if it is not JSON.
package web
