// Package plugintest has a plugin of each kind for tests, the command scripted, which asks the test what to answer.
package plugintest
