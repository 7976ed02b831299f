// The control plane of Kubernetes in one program, for `make test-kube`: no containers, no images.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	parts := map[string]func() int{
		"etcd":        func() int { etcdmain.Main(os.Args); return 0 },
		"apiserver":   func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
		"controllers": func() int { return cli.Run(controllers.NewControllerManagerCommand()) },
		"scheduler":   func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	}
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "controlplane etcd|apiserver|controllers|scheduler [flags]")
		os.Exit(2)
	}
	run := parts[os.Args[1]]
	os.Args = append(os.Args[:1:1], os.Args[2:]...)
	os.Exit(run())
}
