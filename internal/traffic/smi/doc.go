// Package smi splits traffic by a TrafficSplit of the Service Mesh Interface.
//
// The TrafficSplit belongs to the Rollout: it is created with the first pass, lists the Services of all versions, and is deleted with the
// Rollout. The specification is archived, and meshes serve different versions of it, which differ in how a weight is written; see [Form].
package smi
