import { describe, expect, it } from 'vitest';
import { type HollowFindings, hollowFindingsText, hollowProblems } from '../src/monitoring/hollow-report.ts';
import { descriptionProblems, parseNodeDescription, splitDescriptions } from '../src/monitoring/node-description.ts';
import { topUsage, usageProblems } from '../src/monitoring/top-usage.ts';

const MIB = 2 ** 20;
/** Output of `kubectl describe node` for a node with the Go kubelet 1.36.3; labels and some events are left out. */
const REAL = `Name:               go
PLACEHOLDER
`;

const expected: HollowFindings['expected'] = {
  pod: { cpuMillis: 100, memoryBytes: 64 * MIB },
  system: { cpuMillis: 20, memoryBytes: 300 * MIB },
  busy: { utilization: 200, replicas: 4 },
  idle: { utilization: 10, replicas: 1 },
};
const good: HollowFindings = {
  ...{ expected, descriptions: REAL, complaints: [] },
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

  it('splitDescriptions returns one text for each node', () => {
    expect(splitDescriptions(`${REAL}\n\n${REAL}`).map((text) => text.trim())).toEqual([REAL.trim(), REAL.trim()]);
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
