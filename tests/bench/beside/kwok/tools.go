//go:build tools

// Package kwok only fixes the versions of the programs that the benchmark of scale builds.
package kwok

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
