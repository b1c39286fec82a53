// Package docs is the documentation. Its tests run the commands that it tells people to run, and follow its links.
package docs
