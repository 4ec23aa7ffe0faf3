import { FakeClock } from '@node-agent/async/testing';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MetricsRegistry } from '../src/metrics-registry.ts';
import { processMetrics } from '../src/process-metrics.ts';

test('each kind of metric is written in the text format, sorted by name, with help and type', () => {
  const registry = new MetricsRegistry();
  registry.gauge({ name: 'b_pods', help: 'Pods.\nMany.' }).set({}, 3);
  const counter = registry.counter({ name: 'a_total', help: 'All.', labels: ['code', 'verb'] });
  counter.inc({ verb: 'get', code: '200' });
  counter.inc({ verb: 'get', code: '200' }, 2);
  counter.inc({ verb: 'a"b\\c\nd', code: '' });
  const histogram = registry.histogram({ name: 'c_seconds', help: 'Time.', labels: ['op'], buckets: [0.1, 1] });
  for (const seconds of [0.1, 0.5, 5]) histogram.observe({ op: 'x' }, seconds);
  expect(registry.text()).toBe(
    [
      '# HELP a_total All.',
      '# TYPE a_total counter',
      'a_total{code="200",verb="get"} 3',
      'a_total{code="",verb="a\\"b\\\\c\\nd"} 1',
      '# HELP b_pods Pods.\\nMany.',
      '# TYPE b_pods gauge',
      'b_pods 3',
      '# HELP c_seconds Time.',
      '# TYPE c_seconds histogram',
      'c_seconds_bucket{op="x",le="0.1"} 1',
      'c_seconds_bucket{op="x",le="1"} 2',
      'c_seconds_bucket{op="x",le="+Inf"} 3',
      'c_seconds_sum{op="x"} 5.6',
      'c_seconds_count{op="x"} 3',
      '',
    ].join('\n'),
  );
});

describe('metrics of one name', () => {
  test('registering the same metric twice returns one metric', () => {
    const registry = new MetricsRegistry();
    registry.counter({ name: 'a', help: 'x' }).inc({});
    registry.counter({ name: 'a', help: 'x' }).inc({});
    expect(registry.text()).toContain('\na 2\n');
  });

  test('the registry rejects a metric with the name of a metric of another type or with other labels', () => {
    const registry = new MetricsRegistry();
    registry.counter({ name: 'a', help: 'x', labels: ['l'] });
    expect(() => registry.gauge({ name: 'a', help: 'x', labels: ['l'] })).toThrow('metric a is already a counter');
    expect(() => registry.counter({ name: 'a', help: 'x' })).toThrow('with labels [l]');
  });
});

test('a metric without a value is not written, and a counter cannot decrease', () => {
  const registry = new MetricsRegistry();
  const counter = registry.counter({ name: 'a', help: 'x', labels: ['l'] });
  expect(registry.text()).toBe('');
  expect(() => counter.inc({ l: '' }, -1)).toThrow(RangeError);
});

test('infinite and NaN values are written as Prometheus reads them', () => {
  const registry = new MetricsRegistry();
  const gauge = registry.gauge({ name: 'a', help: 'x', labels: ['n'] });
  gauge.set({ n: '1' }, Number.NaN);
  gauge.set({ n: '2' }, Number.POSITIVE_INFINITY);
  gauge.set({ n: '3' }, Number.NEGATIVE_INFINITY);
  expect(registry.text()).toMatch(/} NaN\n.*} \+Inf\n.*} -Inf\n/);
});

test('histogram buckets are cumulative and end with the count', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 20, noNaN: true })), (values) => {
      const registry = new MetricsRegistry();
      const histogram = registry.histogram({ name: 'h', help: 'x' });
      for (const value of values) histogram.observe({}, value);
      const buckets = [...registry.text().matchAll(/^h_bucket\{.*\} (\d+)$/gm)].map((match) => Number(match[1]));
      expect(buckets).toEqual([...buckets].sort((a, b) => a - b));
      expect(buckets.at(-1) ?? 0).toBe(values.length);
    }),
  );
});

test('bucket bounds are formatted as in Go, so that buckets of several kubelets can be summed', () => {
  const registry = new MetricsRegistry();
  const buckets = [-2_500_000, 0.00001, 0.0001, 0.005, 1, 2.5, 999_999, 1_000_000, 1_048_576, 16_777_216, 1e21];
  registry.histogram({ name: 'h', help: 'x', buckets });
  const bounds = [...registry.text().matchAll(/le="(.*)"/g)].map(([, bound]) => bound);
  expect(bounds).toEqual([
    ...['-2.5e+06', '1e-05', '0.0001', '0.005', '1', '2.5', '999999'],
    ...['1e+06', '1.048576e+06', '1.6777216e+07', '1e+21', '+Inf'],
  ]);
});

test('a metric without labels starts at 0, and a metric with labels has no series until it is set', () => {
  const registry = new MetricsRegistry();
  registry.counter({ name: 'a_total', help: 'a' });
  registry.gauge({ name: 'b', help: 'b' });
  registry.histogram({ name: 'c', help: 'c', buckets: [1] });
  registry.counter({ name: 'd_total', help: 'd', labels: ['x'] });
  const values = registry
    .text()
    .split('\n')
    .filter((line) => !line.startsWith('#'));
  expect(values).toEqual([
    'a_total 0',
    'b 0',
    'c_bucket{le="1"} 0',
    'c_bucket{le="+Inf"} 0',
    'c_sum 0',
    'c_count 0',
    '',
  ]);
});

test('process metrics omit values that the system does not report, and show 2^64 for an absent limit', () => {
  const figures = { cpuUsage: () => ({ user: 0, system: 0 }), memoryUsage: () => ({ rss: 1, heapUsed: 1 }) };
  const registry = new MetricsRegistry();
  const systemUsage = () => ({ openFiles: 12, maxOpenFiles: 1024, maxVirtualBytes: Number.POSITIVE_INFINITY });
  registry.addCollector(processMetrics(registry, { ...figures, systemUsage }, 0));
  const text = registry.text();
  expect(text).toContain('\nprocess_open_fds 12\n');
  expect(text).toContain('\nprocess_max_fds 1024\n');
  expect(text).toContain('\nprocess_virtual_memory_max_bytes 18446744073709552000\n');
  expect(text).not.toContain('process_virtual_memory_bytes');
});

test('process metrics are measured at the time of the scrape', () => {
  const registry = new MetricsRegistry();
  const figures = { user: 1_500_000, rss: 7 };
  const collect = processMetrics(
    registry,
    {
      cpuUsage: () => ({ user: figures.user, system: 500_000 }),
      memoryUsage: () => ({ rss: figures.rss, heapUsed: 3 }),
    },
    5000,
  );
  registry.addCollector(collect);
  expect(registry.text()).toContain('\nprocess_cpu_seconds_total 2\n');
  expect(registry.text()).toContain('\nprocess_cpu_seconds_total 2\n');
  figures.user = 2_500_000;
  figures.rss = 9;
  const text = registry.text();
  expect(text).toContain('\nprocess_cpu_seconds_total 3\n');
  expect(text).toContain('\nprocess_resident_memory_bytes 9\n');
  expect(text).toContain('\nprocess_start_time_seconds 5\n');
});

test('process metrics have the names that all Prometheus client libraries use', () => {
  const registry = new MetricsRegistry();
  const systemUsage = () => ({ openFiles: 12, maxOpenFiles: 1024, virtualBytes: 3e9, maxVirtualBytes: 4e9 });
  const cpuUsage = () => ({ user: 500_000, system: 500_000 });
  const memoryUsage = () => ({ rss: 7, heapUsed: 3 });
  registry.addCollector(processMetrics(registry, { cpuUsage, memoryUsage, systemUsage }, 5000));
  const metric = (name: string, type: string, help: string, value: number): string[] => [
    ...[`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, `${name} ${value}`],
  ];
  expect(registry.text().split('\n')).toEqual([
    ...metric('nodejs_heap_size_used_bytes', 'gauge', 'Used size of the JavaScript heap in bytes.', 3),
    ...metric('process_cpu_seconds_total', 'counter', 'Total user and system CPU time spent in seconds.', 1),
    ...metric('process_max_fds', 'gauge', 'Maximum number of open file descriptors.', 1024),
    ...metric('process_open_fds', 'gauge', 'Number of open file descriptors.', 12),
    ...metric('process_resident_memory_bytes', 'gauge', 'Resident memory size in bytes.', 7),
    ...metric('process_start_time_seconds', 'gauge', 'Start time of the process since unix epoch in seconds.', 5),
    ...metric('process_virtual_memory_bytes', 'gauge', 'Virtual memory size in bytes.', 3e9),
    ...metric(
      ...(['process_virtual_memory_max_bytes', 'gauge'] as const),
      ...(['Maximum amount of virtual memory available in bytes.', 4e9] as const),
    ),
    '',
  ]);
});

test('K4: a removed series is not written any more, and starts from zero if it returns', () => {
  const registry = new MetricsRegistry();
  const counter = registry.counter({ name: 'a_total', help: 'All.', labels: ['pod'] });
  counter.inc({ pod: 'x' }, 5);
  counter.inc({ pod: 'y' });
  counter.remove?.({ pod: 'x' });
  expect(registry.text()).not.toContain('pod="x"');
  counter.inc({ pod: 'x' });
  expect(registry.text()).toContain('a_total{pod="x"} 1\n');
});

describe('a registry with many series', () => {
  const COUNT = 10_000;
  const many = (): MetricsRegistry => {
    const registry = new MetricsRegistry();
    const histogram = registry.histogram({ name: 'h', help: 'x', labels: ['pod', 'probe'] });
    for (let index = 0; index < COUNT; index++) histogram.observe({ pod: `p"${index}`, probe: 'Liveness' }, 0.3);
    registry.counter({ name: 'c', help: 'x' }).inc({}, 2);
    return registry;
  };
  const collected = async (portions: AsyncIterable<Uint8Array>): Promise<string> => {
    const all: Uint8Array[] = [];
    for await (const portion of portions) all.push(portion);
    return Buffer.concat(all).toString();
  };

  const bucket = (le: string, count: number): string => `h_bucket{pod="p\\"9999",probe="Liveness",le="${le}"} ${count}`;

  test('a histogram with 10,000 series is written completely', () => {
    const lines = many().text().split('\n');
    expect(lines).toHaveLength(2 + 1 + 2 + 14 * COUNT + 1);
    expect(lines.slice(-15)).toEqual([
      ...['0.005', '0.01', '0.025', '0.05', '0.1', '0.25'].map((le) => bucket(le, 0)),
      ...['0.5', '1', '2.5', '5', '10', '+Inf'].map((le) => bucket(le, 1)),
      'h_sum{pod="p\\"9999",probe="Liveness"} 0.3',
      'h_count{pod="p\\"9999",probe="Liveness"} 1',
      '',
    ]);
  });
  test('portions have the same text as the string', async () => {
    const registry = many();
    expect(await collected(registry.portions({ clock: new FakeClock() }))).toBe(registry.text());
  });

  test('portions write at most 24 series in one turn of the event loop if each takes half a millisecond', async () => {
    const clock = new FakeClock();
    const turns = new Map<number, number>();
    const registry = new MetricsRegistry();
    const gauge = registry.gauge({ name: 'g', help: 'x', labels: ['n'] });
    // Only the conversion of a value to text tells when its series is written.
    const value = {
      valueOf() {
        clock.spend(0.5);
        turns.set(clock.firedTimers, (turns.get(clock.firedTimers) ?? 0) + 1);
        return 1;
      },
    } as unknown as number;
    for (let n = 0; n < 100; n++) gauge.set({ n: `${n}` }, value);
    const text = collected(registry.portions({ clock }));
    await clock.advance(1000);
    expect((await text).match(/^g\{/gm)).toHaveLength(100);
    expect([turns.size, Math.max(...turns.values())]).toEqual([5, 24]);
  });

  test('portions end with the reason of the signal', async () => {
    const abort = new AbortController();
    abort.abort(new Error('the client disconnected'));
    const timers = new FakeClock();
    let elapsedMs = 0;
    const clock = {
      monotonic: () => (elapsedMs += 20),
      setTimer: (delayMs: number, callback: () => void) => timers.setTimer(delayMs, callback),
    };
    await expect(collected(many().portions({ clock }, abort.signal))).rejects.toThrow('disconnected');
  });
});
