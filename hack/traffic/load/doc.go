// Package load sends requests at a fixed rate, whatever becomes of them (open loop, by vegeta), and keeps a ledger of what came back.
package load
