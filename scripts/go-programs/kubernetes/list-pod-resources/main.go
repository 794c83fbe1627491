// Command list-pod-resources prints what a PodResources socket answers to the client of the kubelet's own package, as JSON.
//
//	list-pod-resources unix:///run/cpusetd/pod-resources/kubelet.sock
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubernetes/pkg/kubelet/apis/podresources"
)

const (
	timeout         = 10 * time.Second
	maxMessageBytes = 16 << 20
)

func main() {
	log.SetFlags(0)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	client, connection, err := podresources.GetV1Client(ctx, os.Args[1], timeout, maxMessageBytes)
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	list, err := client.List(ctx, &v1.ListPodResourcesRequest{})
	if err != nil {
		log.Fatal(err)
	}
	allocatable, err := client.GetAllocatableResources(ctx, &v1.AllocatableResourcesRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"list\":%s,\"allocatable\":%s}\n", protojson.Format(list), protojson.Format(allocatable))
}
