// Package traefik splits traffic in a TraefikService: by the weights of the two Services in spec.weighted.services.
//
// The TraefikService belongs to its author, who lists both Services. Only their weights are written, and only when they differ, so
// that nothing has to be taken out again when the Rollout no longer names it. Traefik 2 has the kind in the API group
// traefik.containo.us, Traefik 3 in traefik.io; where an object of that name exists in both, as during a migration, both are split.
package traefik
