package view

// Width is width, for tests.
var Width = width
