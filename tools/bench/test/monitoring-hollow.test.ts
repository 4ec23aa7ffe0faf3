import { describe, expect, it } from 'vitest';
import { type HollowFindings, hollowFindingsText, hollowProblems } from '../src/monitoring/hollow-report.ts';
import { descriptionProblems, parseNodeDescription } from '../src/monitoring/node-description.ts';
import { topUsage, usageProblems } from '../src/monitoring/top-usage.ts';

const MIB = 2 ** 20;
/**
 * Output of `kubectl describe node` for a node with the Go kubelet 1.36.3. The kubelet's events are those of `kubectl get
 * events`, because kubectl does not find them (docs/differences.md).
 */
const REAL = `Name:               go
Roles:              <none>
Labels:             beta.kubernetes.io/arch=amd64
                    beta.kubernetes.io/os=linux
                    kubernetes.io/arch=amd64
                    kubernetes.io/hostname=go
                    kubernetes.io/os=linux
Annotations:        node.alpha.kubernetes.io/ttl: 0
                    volumes.kubernetes.io/controller-managed-attach-detach: true
CreationTimestamp:  Tue, 01 Dec 2026 04:47:15 +0000
Taints:             <none>
Unschedulable:      false
Lease:
  HolderIdentity:  go
  AcquireTime:     <unset>
  RenewTime:       Tue, 01 Dec 2026 04:47:44 +0000
Conditions:
  Type             Status  LastHeartbeatTime                 LastTransitionTime                Reason                       Message
  ----             ------  -----------------                 ------------------                ------                       -------
  MemoryPressure   False   Tue, 01 Dec 2026 04:47:15 +0000   Tue, 01 Dec 2026 04:47:15 +0000   KubeletHasSufficientMemory   kubelet has sufficient memory available
  DiskPressure     False   Tue, 01 Dec 2026 04:47:15 +0000   Tue, 01 Dec 2026 04:47:15 +0000   KubeletHasNoDiskPressure     kubelet has no disk pressure
  PIDPressure      False   Tue, 01 Dec 2026 04:47:15 +0000   Tue, 01 Dec 2026 04:47:15 +0000   KubeletHasSufficientPID      kubelet has sufficient PID available
  Ready            True    Tue, 01 Dec 2026 04:47:15 +0000   Tue, 01 Dec 2026 04:47:15 +0000   KubeletReady                 kubelet is posting ready status
Addresses:
  InternalIP:  192.0.2.2
  Hostname:    go
Capacity:
  cpu:                2
  ephemeral-storage:  264212084Ki
  hugepages-1Gi:      0
  hugepages-2Mi:      0
  memory:             24684092Ki
  pods:               250
Allocatable:
  cpu:                2
  ephemeral-storage:  243497856212
  hugepages-1Gi:      0
  hugepages-2Mi:      0
  memory:             24581692Ki
  pods:               250
System Info:
  Machine ID:                 3d1219c7c4c5404aaa1f6d2a48adfda4
  System UUID:                3d1219c7c4c5404aaa1f6d2a48adfda4
  Boot ID:                    79631005-35c3-416e-92c5-35ddf5511b83
  Kernel Version:             6.18.44-fc-v657
  OS Image:                   Debian GNU/Linux 12 (bookworm)
  Operating System:           linux
  Architecture:               amd64
  Container Runtime Version:  containerd://2.4.2+unknown
  Kubelet Version:            v1.36.3
Non-terminated Pods:          (2 in total)
  Namespace                   Name        CPU Requests  CPU Limits  Memory Requests  Memory Limits  Age
  ---------                   ----        ------------  ----------  ---------------  -------------  ---
  default                     web-0       0 (0%)        0 (0%)      0 (0%)           0 (0%)         32s
  default                     web-1       0 (0%)        0 (0%)      0 (0%)           0 (0%)         32s
Allocated resources:
  (Total limits may be over 100 percent, i.e., overcommitted.)
  Resource           Requests  Limits
  --------           --------  ------
  cpu                0 (0%)    0 (0%)
  memory             0 (0%)    0 (0%)
  ephemeral-storage  0 (0%)    0 (0%)
  hugepages-1Gi      0 (0%)    0 (0%)
  hugepages-2Mi      0 (0%)    0 (0%)
Events:
  Type     Reason                   Age   From             Message
  ----     ------                   ----  ----             -------
  Normal   RegisteredNode           29s   node-controller  Node go event: Registered Node go in Controller
  Normal   Starting                 35s   kubelet          Starting kubelet.
  Warning  InvalidDiskCapacity      35s   kubelet          invalid capacity 0 on image filesystem
  Normal   NodeHasSufficientMemory  33s   kubelet          Node go status is now: NodeHasSufficientMemory
  Normal   NodeHasNoDiskPressure    33s   kubelet          Node go status is now: NodeHasNoDiskPressure
  Normal   NodeHasSufficientPID     33s   kubelet          Node go status is now: NodeHasSufficientPID
  Normal   NodeAllocatableEnforced  33s   kubelet          Updated Node Allocatable limit across pods
  Normal   NodeReady                33s   kubelet          Node go status is now: NodeReady
`;

const expected: HollowFindings['expected'] = {
  pod: { cpuMillis: 100, memoryBytes: 64 * MIB },
  system: { cpuMillis: 20, memoryBytes: 300 * MIB },
  busy: { utilization: 200, replicas: 4 },
  idle: { utilization: 10, replicas: 1 },
};
const good: HollowFindings = {
  ...{ expected, descriptions: [REAL], complaints: [] },
  podsByNode: { go: ['web-0', 'web-1'] },
  top: {
    nodes: 'NAME   CPU(cores)   CPU(%)   MEMORY(bytes)   MEMORY(%)\ngo     221m         2%       428Mi           1%\n',
    pods: 'NAME    CPU(cores)   MEMORY(bytes)\nweb-0   100m         64Mi\nweb-1   101m         64Mi\n',
  },
  busy: { utilization: 201, replicas: 4 },
  idle: { utilization: 10, replicas: 1 },
};

describe('topUsage', () => {
  it('topUsage reads CPU and memory of each name, and omits names whose usage is unknown', () => {
    const shown = topUsage(
      'NAME CPU(cores) CPU(%) MEMORY(bytes) MEMORY(%)\na 1500m 20% 2Gi 5%\nb <unknown> <unknown> <unknown> <unknown>\n',
    );
    expect([...shown]).toEqual([['a', { cpuMillis: 1500, memoryBytes: 2048 * MIB }]]);
    expect([...topUsage('')]).toEqual([]);
  });

  it('usageProblems accepts rounding and reports other CPU, other memory and a missing name', () => {
    const usage = new Map([['a', { cpuMillis: 100, memoryBytes: 64 * MIB }]]);
    const shown = (cpuMillis: number, mib: number) => new Map([['a', { cpuMillis, memoryBytes: mib * MIB }]]);
    expect(usageProblems(shown(102, 65), usage)).toEqual([]);
    expect(usageProblems(shown(103, 66), usage)).toEqual([
      'a: CPU is 103m, expected 100m',
      'a: memory is 66Mi, expected 64Mi',
    ]);
    expect(usageProblems(new Map(), usage)).toEqual(['a: has no usage']);
  });
});

describe('descriptionProblems', () => {
  it('descriptionProblems finds no problem in the description of a node with the Go kubelet', () => {
    expect(descriptionProblems(parseNodeDescription(REAL), ['web-0', 'web-1'])).toEqual([]);
  });

  it.each([
    ['a missing section', /^Addresses:\n( .*\n)+/m, '', 'no section Addresses'],
    ['a missing resource', /hugepages-2Mi/g, 'other', 'Capacity: hugepages-2Mi is missing'],
    ['a missing condition', / PIDPressure /, ' X ', 'Conditions: PIDPressure is missing'],
    ['a missing event', /NodeAllocatableEnforced/, 'X', 'Events: NodeAllocatableEnforced is missing'],
    ['a missing pod', /web-1/, 'web-2', 'Non-terminated Pods: web-1 is missing'],
    ['a node that is not Ready', / Ready +True/, ' Ready            False', 'Conditions: the node is not Ready'],
    ['a field without a value', /Kernel Version: .*/, 'Kernel Version:', 'System Info: Kernel Version is missing'],
  ])('descriptionProblems reports %s', (_title, pattern, replacement, problem) => {
    const changed = REAL.replace(pattern, replacement);
    expect(changed).not.toBe(REAL);
    expect(descriptionProblems(parseNodeDescription(changed), ['web-0', 'web-1'])).toContain(problem);
  });
});

describe('hollowProblems', () => {
  it('hollowProblems finds no problem if kubectl and the autoscaler show the usage of the profile', () => {
    expect(hollowProblems(good)).toEqual([]);
    expect(hollowFindingsText(good)).toMatch(/busy pods: 201 % of the requested CPU, 4 replicas\n[\s\S]*no problem\n$/);
  });

  it.each<[string, Partial<HollowFindings>, string]>([
    [
      'a node without metrics',
      { top: { ...good.top, nodes: good.top.nodes.replace(/221m .*/, '<unknown> <unknown> <unknown> <unknown>') } },
      'kubectl top node: go: has no usage',
    ],
    [
      "CPU of a pod that is not the profile's",
      { top: { ...good.top, pods: good.top.pods.replace('101m', '1m') } },
      'kubectl top pod: web-1: CPU is 1m, expected 100m',
    ],
    [
      'a node that is not described',
      {
        podsByNode: { ...good.podsByNode, absent: [] },
        top: { ...good.top, nodes: `${good.top.nodes}absent 20m 0% 300Mi 0%\n` },
      },
      'kubectl describe node absent: no section Name',
    ],
    [
      'another CPU usage',
      { busy: { utilization: 100, replicas: 4 } },
      'autoscaler, busy pods: 100 % of the requested CPU, expected 200 %',
    ],
    [
      'another number of replicas',
      { idle: { utilization: 10, replicas: 2 } },
      'autoscaler, idle pods: 2 replicas, expected 1',
    ],
    ['a logged error', { complaints: ['E0101 x'] }, 'E0101 x'],
  ])('hollowProblems reports %s', (_title, more, problem) => {
    expect(hollowProblems({ ...good, ...more })).toContain(problem);
    expect(hollowFindingsText({ ...good, ...more })).toContain(`\n  ${problem}\n`);
  });
});
