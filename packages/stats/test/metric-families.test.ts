import { FakeClock } from '@node-agent/async/testing';
import { messages } from '@node-agent/cri-client';
import { describe, expect, it } from 'vitest';
import { expositionText, type MetricFamily, type MetricSource } from '../src/exposition.ts';
import { podMetrics } from '../src/pod-metrics.ts';
import { resourceMetrics } from '../src/resource-metrics.ts';
import { preferring, runtimeMetrics } from '../src/runtime-metrics.ts';
import type { NodeSummary, PodStats } from '../src/summary.ts';

const TIMES = ['01', '02', '03', '04', '05', '06', '07', '08', '09'].map((second) => `2026-03-01T12:00:${second}.500Z`);
const at = (index: number): number => Date.parse(TIMES[index] ?? '');
const NODE = { nodeName: 'n', startTime: null };
const WEB = { name: 'web', namespace: 'shop', uid: 'u' };

const whole: NodeSummary = {
  node: {
    ...NODE,
    cpu: { time: TIMES[0] ?? '', usageCoreNanoSeconds: 1_500_000_000 },
    memory: { time: TIMES[1] ?? '', workingSetBytes: 101 },
    swap: { time: TIMES[2] ?? '', swapUsageBytes: 102 },
  },
  pods: [
    {
      ...{ podRef: WEB, startTime: TIMES[0] ?? '' },
      cpu: { time: TIMES[3] ?? '', usageCoreNanoSeconds: 2_500_000_000 },
      memory: { time: TIMES[4] ?? '', workingSetBytes: 201 },
      swap: { time: TIMES[5] ?? '', swapUsageBytes: 202 },
      containers: [
        {
          ...{ name: 'main', startTime: TIMES[0] ?? '' },
          cpu: { time: TIMES[6] ?? '', usageCoreNanoSeconds: 3_500_000_000 },
          memory: { time: TIMES[7] ?? '', workingSetBytes: 301 },
          swap: { time: TIMES[8] ?? '', swapUsageBytes: 302, swapAvailableBytes: 400 },
        },
      ],
    },
  ],
};

const linesOf = (families: readonly MetricSource[]): readonly string[] =>
  expositionText(families)
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));

describe('/metrics/resource page', () => {
  it("the page /metrics/resource equals upstream's line by line, with the reading time of each value", () => {
    const container = 'container="main",namespace="shop",pod="web"';
    const pod = 'namespace="shop",pod="web"';
    expect(expositionText(resourceMetrics(whole)).split('\n')).toEqual([
      '# HELP container_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the container in core-seconds',
      '# TYPE container_cpu_usage_seconds_total counter',
      `container_cpu_usage_seconds_total{${container}} 3.5 ${at(6)}`,
      '# HELP container_memory_working_set_bytes [STABLE] Current working set of the container in bytes',
      '# TYPE container_memory_working_set_bytes gauge',
      `container_memory_working_set_bytes{${container}} 301 ${at(7)}`,
      '# HELP container_start_time_seconds [STABLE] Start time of the container since unix epoch in seconds',
      '# TYPE container_start_time_seconds gauge',
      `container_start_time_seconds{${container}} ${at(0) / 1000}`,
      '# HELP container_swap_limit_bytes [ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems',
      '# TYPE container_swap_limit_bytes gauge',
      `container_swap_limit_bytes{${container}} 702 ${at(8)}`,
      '# HELP container_swap_usage_bytes [ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems',
      '# TYPE container_swap_usage_bytes gauge',
      `container_swap_usage_bytes{${container}} 302 ${at(8)}`,
      '# HELP node_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the node in core-seconds',
      '# TYPE node_cpu_usage_seconds_total counter',
      `node_cpu_usage_seconds_total 1.5 ${at(0)}`,
      '# HELP node_memory_working_set_bytes [STABLE] Current working set of the node in bytes',
      '# TYPE node_memory_working_set_bytes gauge',
      `node_memory_working_set_bytes 101 ${at(1)}`,
      '# HELP node_swap_usage_bytes [ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems',
      '# TYPE node_swap_usage_bytes gauge',
      `node_swap_usage_bytes 102 ${at(2)}`,
      '# HELP pod_cpu_usage_seconds_total [STABLE] Cumulative cpu time consumed by the pod in core-seconds',
      '# TYPE pod_cpu_usage_seconds_total counter',
      `pod_cpu_usage_seconds_total{${pod}} 2.5 ${at(3)}`,
      '# HELP pod_memory_working_set_bytes [STABLE] Current working set of the pod in bytes',
      '# TYPE pod_memory_working_set_bytes gauge',
      `pod_memory_working_set_bytes{${pod}} 201 ${at(4)}`,
      '# HELP pod_swap_usage_bytes [ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems',
      '# TYPE pod_swap_usage_bytes gauge',
      `pod_swap_usage_bytes{${pod}} 202 ${at(5)}`,
      '# HELP resource_scrape_error [STABLE] 1 if there was an error while getting container metrics, 0 otherwise',
      '# TYPE resource_scrape_error gauge',
      'resource_scrape_error 0',
      '',
    ]);
  });

  it.each<[string, PodStats['containers'][number], readonly string[]]>([
    ['without values', { name: 'main', startTime: null }, []],
    [
      'whose reading time is unknown',
      { name: 'main', startTime: null, memory: { time: null, workingSetBytes: 5 } },
      ['container_memory_working_set_bytes 5'],
    ],
    [
      'whose swap usage is unknown: the limit is the available swap',
      { name: 'main', startTime: null, swap: { time: null, swapAvailableBytes: 7 } },
      ['container_swap_limit_bytes 7'],
    ],
    [
      'without a swap limit',
      { name: 'main', startTime: null, swap: { time: null, swapUsageBytes: 7 } },
      ['container_swap_usage_bytes 7'],
    ],
  ])('the /metrics/resource series of a container %s are $2', (_what, container, expected) => {
    const summary = { node: NODE, pods: [{ podRef: WEB, startTime: null, containers: [container] }] };
    const lines = linesOf(resourceMetrics(summary)).map((line) => line.replace(/\{.*\}/, ''));
    expect(lines).toEqual([...expected, 'resource_scrape_error 0']);
  });

  it('the /metrics/resource page groups all samples of a metric family, regardless of their pods', () => {
    const pods = ['a', 'b'].map((name) => ({
      ...{ podRef: { ...WEB, name }, startTime: null, containers: [] },
      memory: { time: null, workingSetBytes: 1 },
    }));
    expect(linesOf(resourceMetrics({ node: NODE, pods }))).toEqual([
      'pod_memory_working_set_bytes{namespace="shop",pod="a"} 1',
      'pod_memory_working_set_bytes{namespace="shop",pod="b"} 1',
      'resource_scrape_error 0',
    ]);
  });

  it('the /metrics/resource page contains only the scrape error if there is no summary', () => {
    expect(linesOf(resourceMetrics(undefined))).toEqual(['resource_scrape_error 1']);
  });
});

describe('pod metrics of /metrics', () => {
  const size = { availableBytes: 1, capacityBytes: 2, usedBytes: 3, inodesFree: 4, inodes: 5, inodesUsed: 6 };
  const volume = { time: null, ...size, name: 'data', pvcRef: { namespace: 'ns', name: 'claim' } };
  const pod = (more: Partial<PodStats>): PodStats => ({
    ...{ podRef: WEB, startTime: null, containers: [], ...more },
  });

  it("pod metrics equal upstream's line by line", () => {
    const claim = '{namespace="ns",persistentvolumeclaim="claim"}';
    const containers = [{ name: 'main', startTime: null, logs: { time: null, usedBytes: 99 } }];
    const families = podMetrics([pod({ containers, volume: [{ ...volume, volumeHealthStats: { abnormal: true } }] })]);
    expect(expositionText(families).split('\n')).toEqual([
      "# HELP kubelet_container_log_filesystem_used_bytes [ALPHA] Bytes used by the container's logs on the filesystem.",
      '# TYPE kubelet_container_log_filesystem_used_bytes gauge',
      'kubelet_container_log_filesystem_used_bytes{container="main",namespace="shop",pod="web",uid="u"} 99',
      '# HELP kubelet_volume_stats_available_bytes [ALPHA] Number of available bytes in the volume',
      '# TYPE kubelet_volume_stats_available_bytes gauge',
      `kubelet_volume_stats_available_bytes${claim} 1`,
      '# HELP kubelet_volume_stats_capacity_bytes [ALPHA] Capacity in bytes of the volume',
      '# TYPE kubelet_volume_stats_capacity_bytes gauge',
      `kubelet_volume_stats_capacity_bytes${claim} 2`,
      '# HELP kubelet_volume_stats_health_status_abnormal [ALPHA] Abnormal volume health status. The count is either 1 or 0. 1 indicates the volume is unhealthy, 0 indicates volume is healthy',
      '# TYPE kubelet_volume_stats_health_status_abnormal gauge',
      `kubelet_volume_stats_health_status_abnormal${claim} 1`,
      '# HELP kubelet_volume_stats_inodes [ALPHA] Maximum number of inodes in the volume',
      '# TYPE kubelet_volume_stats_inodes gauge',
      `kubelet_volume_stats_inodes${claim} 5`,
      '# HELP kubelet_volume_stats_inodes_free [ALPHA] Number of free inodes in the volume',
      '# TYPE kubelet_volume_stats_inodes_free gauge',
      `kubelet_volume_stats_inodes_free${claim} 4`,
      '# HELP kubelet_volume_stats_inodes_used [ALPHA] Number of used inodes in the volume',
      '# TYPE kubelet_volume_stats_inodes_used gauge',
      `kubelet_volume_stats_inodes_used${claim} 6`,
      '# HELP kubelet_volume_stats_used_bytes [ALPHA] Number of used bytes in the volume',
      '# TYPE kubelet_volume_stats_used_bytes gauge',
      `kubelet_volume_stats_used_bytes${claim} 3`,
      '',
    ]);
  });

  it('podMetrics writes 0 for unknown values of a claim, as upstream does, and omits unknown log usage', () => {
    const unknown = { time: null, name: 'data', pvcRef: volume.pvcRef };
    const containers = [
      { name: 'a', startTime: null },
      { name: 'b', startTime: null, logs: { time: null } },
    ];
    const lines = linesOf(podMetrics([pod({ containers, volume: [unknown] })]));
    expect(lines.map((line) => line.replace(/\{.*\}/, ''))).toEqual(
      ['available_bytes', 'capacity_bytes', 'inodes', 'inodes_free', 'inodes_used', 'used_bytes'].map(
        (name) => `kubelet_volume_stats_${name} 0`,
      ),
    );
  });

  it('podMetrics writes each claim once with the values of the first pod, and separates equal claim names by namespace', () => {
    const other = { ...volume, capacityBytes: 7, pvcRef: { namespace: 'other', name: 'claim' } };
    const pods = [pod({ volume: [volume] }), pod({ volume: [{ ...volume, capacityBytes: 9 }, other] })];
    expect(linesOf(podMetrics(pods)).filter((line) => line.includes('capacity'))).toEqual([
      'kubelet_volume_stats_capacity_bytes{namespace="ns",persistentvolumeclaim="claim"} 2',
      'kubelet_volume_stats_capacity_bytes{namespace="other",persistentvolumeclaim="claim"} 7',
    ]);
  });

  it('podMetrics writes the volume health metric for a healthy volume and omits it if the health is unknown', () => {
    const health = (of: PodStats['volume']): readonly string[] =>
      linesOf(podMetrics([pod(of === undefined ? {} : { volume: of })])).filter((line) => line.includes('health'));
    expect(health([{ ...volume, volumeHealthStats: { abnormal: false } }])).toEqual([expect.stringMatching(/ 0$/)]);
    expect(health([volume])).toEqual([]);
    expect(health(undefined)).toEqual([]);
  });
});

describe('runtimeMetrics', () => {
  type Told = Parameters<typeof runtimeMetrics>[1][number];
  const COUNTER = 0;
  const GAUGE = 1;
  const metric = (name: string, labelValues: string[], value: number | null, metricType = GAUGE, timestamp = 0) => ({
    ...{ name, labelValues, metricType, timestamp },
    value: value === null ? null : { value },
  });
  const families = (descriptor: object, ...metrics: object[]): Promise<readonly MetricFamily[]> =>
    runtimeMetrics(
      [messages.MetricDescriptor.create({ name: 'm', help: 'Help.', labelKeys: ['id'], ...descriptor })],
      [
        messages.PodSandboxMetrics.create({ metrics } as Parameters<
          typeof messages.PodSandboxMetrics.create
        >[0]) as Told,
      ],
      { clock: new FakeClock() },
    );

  it('runtime metrics keep their types and times, and a metric without a time gets none', async () => {
    const two = [metric('m', ['a'], 5, COUNTER, 7_000_000), metric('m', ['b'], 6, COUNTER)];
    expect(await families({}, ...two)).toEqual([
      {
        ...{ name: 'm', help: 'Help.', type: 'counter' },
        samples: [
          { labels: { id: 'a' }, value: 5, atMs: 7 },
          { labels: { id: 'b' }, value: 6 },
        ],
      },
    ]);
    expect((await families({}, metric('m', ['a'], 5)))[0]?.type).toBe('gauge');
  });

  it.each([
    [1, 1e-6],
    [0, undefined],
    [-1, undefined],
  ])('a runtime metric with timestamp %d has the time %j', async (timestamp, atMs) => {
    const [family] = await families({}, metric('m', ['a'], 5, GAUGE, timestamp));
    expect(family?.samples[0]?.atMs).toBe(atMs);
  });

  it.each([
    ['an invalid name', { name: 'a b' }, metric('a b', ['x'], 1)],
    ['a name that begins with a digit', { name: '1m' }, metric('1m', ['x'], 1)],
    ['a name with an invalid last character', { name: 'm-' }, metric('m-', ['x'], 1)],
    ['an invalid label name', { labelKeys: ['id', 'a-b'] }, metric('m', ['x', 'y'], 1)],
    ['a label that begins with a digit', { labelKeys: ['1a'] }, metric('m', ['x'], 1)],
    ['a repeated label name', { labelKeys: ['id', 'id'] }, metric('m', ['x', 'y'], 1)],
    ['no descriptor', { name: 'other' }, metric('m', ['x'], 1)],
    ['fewer values than labels', { labelKeys: ['id', 'pod'] }, metric('m', ['x'], 1)],
    ['more values than labels', {}, metric('m', ['x', 'y'], 1)],
    ['no value', {}, metric('m', ['x'], null)],
  ])('runtimeMetrics omits a runtime metric with %s', async (_what, descriptor, told) => {
    expect(await families(descriptor, told)).toEqual([]);
  });

  it('runtimeMetrics omits a repeated runtime sample with the same labels and a sample of another type in the same family', async () => {
    const told = [metric('m', ['a'], 1), metric('m', ['a'], 2), metric('m', ['b'], 3), metric('m', ['c'], 4, COUNTER)];
    expect((await families({}, ...told)).map(({ type, samples }) => [type, samples.map(({ value }) => value)])).toEqual(
      [['gauge', [2, 3]]],
    );
    // Two lists of label values that become equal by concatenation are still different series.
    const two = await families({ labelKeys: ['a', 'b'] }, metric('m', ['x', 'yz'], 1), metric('m', ['xy', 'z'], 2));
    expect(two[0]?.samples).toHaveLength(2);
  });

  it("runtime metrics replace the kubelet's metrics of the same name if they have samples", () => {
    const family = (name: string, value?: number): MetricFamily => ({
      ...{ name, help: '', type: 'gauge' },
      samples: value === undefined ? [] : [{ labels: {}, value }],
    });
    const joined = preferring(
      [family('both', 1), family('none')],
      [family('both', 2), family('none', 3), family('ours', 4)],
    );
    expect(linesOf(joined)).toEqual(['both 1', 'none 3', 'ours 4']);
  });
});

describe('expositionText', () => {
  const text = (samples: MetricFamily['samples']): readonly string[] =>
    linesOf([{ name: 'm', help: '', type: 'gauge', samples }]);

  it.each([
    [0.25, 'm 0.25'],
    [1e21, 'm 1e+21'],
    [Number.NaN, 'm NaN'],
    [Number.POSITIVE_INFINITY, 'm +Inf'],
    [Number.NEGATIVE_INFINITY, 'm -Inf'],
  ])('expositionText writes the number %d as %s', (value, line) => {
    expect(text([{ labels: {}, value }])).toEqual([line]);
  });

  it('expositionText sorts labels, escapes their values and writes times as whole milliseconds', () => {
    const labels = { b: 'back\\slash', a: 'new\nline', c: '"quoted"', d: 'plain' };
    expect(text([{ labels, value: 1, atMs: 1234.5 }])).toEqual([
      'm{a="new\\nline",b="back\\\\slash",c="\\"quoted\\"",d="plain"} 1 1234',
    ]);
  });

  it('expositionText sorts families by name, omits families without samples, and writes nothing for no families', () => {
    const family = (name: string, samples: MetricFamily['samples']): MetricFamily => ({
      ...{ name, help: 'one\nline with a \\', type: 'counter', samples },
    });
    const one = [{ labels: {}, value: 1 }];
    expect(expositionText([family('c', one), family('a', one), family('d', []), family('b', one)])).toBe(
      ['a', 'b', 'c']
        .map((name) => `# HELP ${name} one\\nline with a \\\\\n# TYPE ${name} counter\n${name} 1\n`)
        .join(''),
    );
    expect(expositionText([family('d', [])])).toBe('');
  });
});
