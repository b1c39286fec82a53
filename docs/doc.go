// Package docs is the documentation. Its tests run the commands that the pages show, follow their links, and compare the README's figures with the
// pages that say how they were measured.
package docs
