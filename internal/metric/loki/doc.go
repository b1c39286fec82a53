// Package loki measures by a query in LogQL that gives numbers, such as how many lines have an error in them. The value is a list of numbers.
package loki
