// Package story plays transcripts: files under testdata in which a rollout, or an experiment, is told line by line, with what came of
// it written below each paragraph.
//
// [Transcripts] compares what happens with what is written. [CrashAnywhere] and [StaleAnywhere] play the same stories with a disturbance
// in each of their moments, and demand the same end: that is how the rules of package plan about crashes and old views are held.
package story
