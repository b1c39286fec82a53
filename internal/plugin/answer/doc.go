// Package answer bounds what plugins answer, before it is recorded in objects: nothing that a plugin says may make an object too large to be written, or
// its text unreadable.
//
// What must not be here: what an answer means, which the engines decide.
package answer
