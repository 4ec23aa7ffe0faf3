// Command upstream-resources runs sequences of pods through the CPU, memory and topology managers of the Go kubelet.
//
//	upstream-resources machine ROOT   prints the MachineInfo that cAdvisor reads from ROOT/sys, as JSON; needs root
//	upstream-resources run            reads one sequence per line (JSON) and writes one answer per line
//
// A sequence that makes the managers panic gets an answer with the error, and the next sequence is read.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	cadvisorapi "github.com/google/cadvisor/info/v1"
	cadvisormachine "github.com/google/cadvisor/machine"
	"github.com/google/cadvisor/utils/sysfs"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager/bitmask"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

const (
	cpuStateFile    = "cpu_manager_state"
	memoryStateFile = "memory_manager_state"
)

// sequence is a node and what happens on it.
type sequence struct {
	Machine cadvisorapi.MachineInfo `json:"machine"`
	Config  config                  `json:"config"`
	Steps   []step                  `json:"steps"`
}

// config has the fields of the KubeletConfiguration that the managers use.
type config struct {
	CPUManagerPolicy             string              `json:"cpuManagerPolicy"`
	CPUManagerPolicyOptions      map[string]string   `json:"cpuManagerPolicyOptions"`
	ReservedSystemCPUs           string              `json:"reservedSystemCPUs"`
	MemoryManagerPolicy          string              `json:"memoryManagerPolicy"`
	ReservedMemory               []memoryReservation `json:"reservedMemory"`
	TopologyManagerPolicy        string              `json:"topologyManagerPolicy"`
	TopologyManagerScope         string              `json:"topologyManagerScope"`
	TopologyManagerPolicyOptions map[string]string   `json:"topologyManagerPolicyOptions"`
	NodeReservation              v1.ResourceList     `json:"nodeReservation"`
	FeatureGates                 map[string]bool     `json:"featureGates"`
}

type memoryReservation struct {
	NumaNode int32           `json:"numaNode"`
	Limits   v1.ResourceList `json:"limits"`
}

// step is one event on the node. Op is admit, remove, restart or start (a container of a pod starts).
type step struct {
	Op        string `json:"op"`
	Pod       v1.Pod `json:"pod"`
	UID       string `json:"uid"`
	Container string `json:"container"`
	// Files that replace the state files before a restart, by name. An empty text removes the file.
	Files map[string]string `json:"files"`
	// Devices has the hints of the device manager, by container name; "" stands for the pod as a whole.
	Devices map[string]map[string][]deviceHint `json:"devices"`
}

type deviceHint struct {
	Nodes     []int `json:"nodes"`
	Preferred bool  `json:"preferred"`
}

// answer describes the node after a step.
type answer struct {
	Error   string `json:"error,omitempty"`
	Admit   *bool  `json:"admit,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Nanoseconds is the time of an admission.
	Nanoseconds int64             `json:"nanoseconds,omitempty"`
	Files       map[string]string `json:"files,omitempty"`
	// Affinity has the CPUs of each container of the active pods, shared ones included, by "UID/container".
	Affinity map[string]string `json:"affinity,omitempty"`
	// Exclusive has the CPUs in the podresources API, Memory the memory blocks, sorted by type.
	Exclusive         map[string][]int   `json:"exclusive,omitempty"`
	Memory            map[string][]block `json:"memory,omitempty"`
	AllocatableCPUs   []int              `json:"allocatableCPUs,omitempty"`
	AllocatableMemory []block            `json:"allocatableMemory,omitempty"`
}

type block struct {
	Nodes    []int  `json:"nodes"`
	Resource string `json:"resource"`
	Bytes    uint64 `json:"bytes"`
}

func main() {
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(discard{})
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type discard struct{}

func (discard) Write(text []byte) (int, error) { return len(text), nil }

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "machine":
		return printMachine(args[1])
	case len(args) == 1 && args[0] == "run":
		return runSequences()
	}
	return fmt.Errorf("usage: upstream-resources machine ROOT | run")
}

// printMachine reads a directory as the root of the file system, because cAdvisor has fixed paths below /sys.
func printMachine(root string) error {
	if err := syscall.Chroot(root); err != nil {
		return fmt.Errorf("chroot %s: %w", root, err)
	}
	topology, cores, err := cadvisormachine.GetTopology(sysfs.NewRealSysFs())
	if err != nil {
		return fmt.Errorf("read topology: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(cadvisorapi.MachineInfo{
		Topology:         topology,
		NumCores:         cores,
		NumPhysicalCores: cadvisormachine.GetPhysicalCores(nil),
		NumSockets:       cadvisormachine.GetSockets(nil),
	})
}

func runSequences() error {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := json.Marshal(answers(line))
		if err != nil {
			return err
		}
		_, _ = out.Write(append(text, '\n'))
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

func answers(line []byte) (found []answer) {
	defer func() {
		if problem := recover(); problem != nil {
			found = append(found, answer{Error: fmt.Sprintf("panic: %v", problem)})
		}
	}()
	var sequence sequence
	if err := json.Unmarshal(line, &sequence); err != nil {
		return []answer{{Error: fmt.Sprintf("read sequence: %v", err)}}
	}
	directory, err := os.MkdirTemp("", "upstream-resources-")
	if err != nil {
		return []answer{{Error: err.Error()}}
	}
	defer os.RemoveAll(directory)
	node := &node{config: sequence.Config, machine: sequence.Machine, directory: directory}
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(sequence.Config.FeatureGates); err != nil {
		return []answer{{Error: err.Error()}}
	}
	if err := node.start(); err != nil {
		return []answer{{Error: node.shown(err)}}
	}
	found = append(found, node.state(answer{}))
	for _, step := range sequence.Steps {
		one := node.apply(step)
		found = append(found, one)
		if one.Error != "" {
			break
		}
	}
	return found
}

// node is a kubelet's container manager, as far as it is about CPUs and memory.
type node struct {
	config    config
	machine   cadvisorapi.MachineInfo
	directory string
	active    []*v1.Pod
	devices   deviceHints
	topology  topologymanager.Manager
	cpu       cpumanager.Manager
	memory    memorymanager.Manager
}

// start makes and starts the managers like NewContainerManager and Start in pkg/kubelet/cm/container_manager_linux.go.
func (n *node) start() error {
	logger := klog.Background()
	var err error
	n.topology, err = topologymanager.NewManager(n.machine.Topology, n.config.TopologyManagerPolicy, n.config.TopologyManagerScope, n.config.TopologyManagerPolicyOptions)
	if err != nil {
		return err
	}
	n.devices = deviceHints{}
	n.topology.AddHintProvider(logger, n.devices)
	reserved, err := cpuset.Parse(n.config.ReservedSystemCPUs)
	if err != nil {
		return err
	}
	// The period is longer than any sequence: only the first reconciliation runs.
	n.cpu, err = cpumanager.NewManager(logger, n.config.CPUManagerPolicy, n.config.CPUManagerPolicyOptions, time.Hour, &n.machine, reserved, n.config.NodeReservation, n.directory, n.topology)
	if err != nil {
		return err
	}
	n.topology.AddHintProvider(logger, n.cpu)
	var reservedMemory []kubeletconfig.MemoryReservation
	for _, one := range n.config.ReservedMemory {
		reservedMemory = append(reservedMemory, kubeletconfig.MemoryReservation{NumaNode: one.NumaNode, Limits: one.Limits})
	}
	n.memory, err = memorymanager.NewManager(logger, n.config.MemoryManagerPolicy, &n.machine, n.config.NodeReservation, reservedMemory, n.directory, n.topology)
	if err != nil {
		return err
	}
	n.topology.AddHintProvider(logger, n.memory)
	active := n.active
	var asked atomic.Int32
	pods := func() []*v1.Pod {
		if asked.Add(1) <= 2 {
			return active
		}
		return n.active
	}
	ctx := context.Background()
	if err := n.cpu.Start(ctx, pods, ready{}, noStatus{}, noRuntime{}, containermap.NewContainerMap()); err != nil {
		return fmt.Errorf("start cpu manager error: %w", err)
	}
	// The first reconciliation runs in the background and asks twice for the pods. It must not overlap with the steps.
	for n.config.CPUManagerPolicy == "static" && asked.Load() < 2 {
		time.Sleep(100 * time.Microsecond)
	}
	if err := n.memory.Start(ctx, pods, ready{}, noStatus{}, noRuntime{}, containermap.NewContainerMap()); err != nil {
		return fmt.Errorf("start memory manager error: %w", err)
	}
	return nil
}

// shown returns the text of an error with the usual root directory instead of the temporary one.
func (n *node) shown(err error) string {
	return strings.ReplaceAll(err.Error(), n.directory, "/var/lib/kubelet")
}

func (n *node) apply(step step) answer {
	switch step.Op {
	case "admit":
		return n.admit(step.Pod.DeepCopy(), step.Devices)
	case "remove":
		n.remove(types.UID(step.UID))
		return n.state(answer{})
	case "start":
		n.startContainer(types.UID(step.UID), step.Container)
		return n.state(answer{})
	case "restart":
		for name, text := range step.Files {
			path := filepath.Join(n.directory, name)
			if text == "" {
				_ = os.Remove(path)
			} else if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				return answer{Error: err.Error()}
			}
		}
		if err := n.start(); err != nil {
			return answer{Error: n.shown(err)}
		}
		return n.state(answer{})
	}
	return answer{Error: fmt.Sprintf("unknown step %q", step.Op)}
}

// admit admits a pod that is active already while it is admitted, as in the kubelet.
func (n *node) admit(pod *v1.Pod, devices map[string]map[string][]deviceHint) answer {
	n.remove(pod.UID)
	n.active = append(n.active, pod)
	n.devices[pod.UID] = devices
	started := time.Now()
	result := n.topology.Admit(&lifecycle.PodAdmitAttributes{Pod: pod, OtherPods: n.active})
	elapsed := time.Since(started)
	if !result.Admit {
		n.remove(pod.UID)
	}
	return n.state(answer{Admit: &result.Admit, Reason: result.Reason, Message: result.Message, Nanoseconds: elapsed.Nanoseconds()})
}

func (n *node) remove(uid types.UID) {
	var left []*v1.Pod
	for _, pod := range n.active {
		if pod.UID != uid {
			left = append(left, pod)
		}
	}
	n.active = left
}

// startContainer calls the managers like PreStartContainer in pkg/kubelet/cm/internal_container_lifecycle.go.
func (n *node) startContainer(uid types.UID, name string) {
	for _, pod := range n.active {
		if pod.UID != uid {
			continue
		}
		for _, container := range allContainers(pod) {
			if container.Name != name {
				continue
			}
			id := string(uid) + "/" + name
			n.cpu.AddContainer(klog.Background(), pod, &container, id)
			n.memory.AddContainer(klog.Background(), pod, &container, id)
			n.topology.AddContainer(pod, &container, id)
		}
	}
}

// state frees the resources of pods that are gone, which any request for hints does, and describes the node.
func (n *node) state(one answer) answer {
	nobody := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{}}}}
	n.cpu.GetTopologyHints(nobody, &nobody.Spec.Containers[0])
	n.memory.GetTopologyHints(nobody, &nobody.Spec.Containers[0])
	one.Files = map[string]string{}
	for _, name := range []string{cpuStateFile, memoryStateFile} {
		if text, err := os.ReadFile(filepath.Join(n.directory, name)); err == nil {
			one.Files[name] = string(text)
		}
	}
	one.Affinity = map[string]string{}
	one.Exclusive = map[string][]int{}
	one.Memory = map[string][]block{}
	for _, pod := range n.active {
		for _, container := range allContainers(pod) {
			key := string(pod.UID) + "/" + container.Name
			one.Affinity[key] = n.cpu.GetCPUAffinity(string(pod.UID), container.Name).String()
			one.Exclusive[key] = n.cpu.GetExclusiveCPUs(string(pod.UID), container.Name).List()
			one.Memory[key] = blocks(n.memory.GetMemory(string(pod.UID), container.Name))
		}
	}
	one.AllocatableCPUs = n.cpu.GetAllocatableCPUs().List()
	one.AllocatableMemory = blocks(n.memory.GetAllocatableMemory())
	return one
}

func blocks(found []state.Block) []block {
	all := []block{}
	for _, one := range found {
		all = append(all, block{Nodes: one.NUMAAffinity, Resource: string(one.Type), Bytes: one.Size})
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].Resource != all[j].Resource {
			return all[i].Resource < all[j].Resource
		}
		return fmt.Sprint(all[i].Nodes) < fmt.Sprint(all[j].Nodes)
	})
	return all
}

func allContainers(pod *v1.Pod) []v1.Container {
	return append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...)
}

// deviceHints stands in for the device manager, by pod UID: it gives hints and allocates nothing.
type deviceHints map[types.UID]map[string]map[string][]deviceHint

func (d deviceHints) of(uid types.UID, container string) map[string][]topologymanager.TopologyHint {
	given, ok := d[uid][container]
	if !ok {
		return nil
	}
	hints := map[string][]topologymanager.TopologyHint{}
	for resource, list := range given {
		hints[resource] = []topologymanager.TopologyHint{}
		for _, one := range list {
			mask, _ := bitmask.NewBitMask(one.Nodes...)
			hints[resource] = append(hints[resource], topologymanager.TopologyHint{NUMANodeAffinity: mask, Preferred: one.Preferred})
		}
	}
	return hints
}

func (d deviceHints) GetTopologyHints(pod *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint {
	return d.of(pod.UID, container.Name)
}

func (d deviceHints) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	return d.of(pod.UID, "")
}

func (d deviceHints) Allocate(*v1.Pod, *v1.Container) error { return nil }

func (d deviceHints) AllocatePod(*v1.Pod) error { return nil }

type ready struct{}

func (ready) AddSource(string) {}
func (ready) AllReady() bool   { return true }

type noStatus struct{}

func (noStatus) GetPodStatus(types.UID) (v1.PodStatus, bool) { return v1.PodStatus{}, false }

type noRuntime struct{}

func (noRuntime) UpdateContainerResources(context.Context, string, *runtimeapi.ContainerResources) error {
	return nil
}
