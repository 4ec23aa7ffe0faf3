import { describe, expect, it } from 'vitest';
import { figuresV1 } from '../src/figures-v1.ts';
import { figuresV2 } from '../src/figures-v2.ts';
import type { Detail } from '../src/group-figures.ts';
import { groupFiles } from '../src/group-files.ts';

const textsOf = (files: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(files));
const NO_LIMIT_V1 = '9223372036854771712\n';

describe('cgroup v1 stats', () => {
  it('figuresV1 reads all values from the files of a v1 cgroup', () => {
    const figures = figuresV1(
      textsOf({
        'cpuacct.usage': '5000000000\n',
        'cpuacct.stat': 'user 150\nsystem 50\n',
        'cpu.stat': 'nr_periods 9\nnr_throttled 4\nthrottled_time 3000\nnr_bursts 2\nburst_time 700\n',
        'cpu.shares': '512\n',
        'cpu.cfs_quota_us': '50000\n',
        'cpu.cfs_period_us': '100000\n',
        'memory.usage_in_bytes': '3000\n',
        // The file has values of the cgroup alone, and totals that include its descendants.
        'memory.stat': [
          ...['cache 901', 'rss 902', 'mapped_file 903', 'swap 904', 'active_file 905', 'inactive_file 906'],
          ...['pgfault 15', 'pgmajfault 12', 'total_cache 31', 'total_rss 700', 'total_mapped_file 17'],
          ...['total_swap 10', 'total_active_file 13', 'total_inactive_file 1000', ''],
        ].join('\n'),
        'memory.kmem.usage_in_bytes': '55\n',
        'memory.max_usage_in_bytes': '9999\n',
        'memory.failcnt': '6\n',
        'memory.oom_control': 'oom_kill_disable 0\nunder_oom 1\noom_kill 3\n',
        'memory.limit_in_bytes': '4096\n',
        'memory.memsw.limit_in_bytes': '8192\n',
        'memory.soft_limit_in_bytes': NO_LIMIT_V1,
        'blkio.throttle.io_service_bytes_recursive': '8:0 Read 101\n8:0 Write 102\nTotal 203\n',
        'blkio.throttle.io_serviced_recursive': '8:0 Read 103\n8:0 Write 104\nTotal 207\n',
      }),
    );
    expect(figures).toEqual({
      cpu: {
        ...{ usageNs: 5_000_000_000, userNs: 1_500_000_000, systemNs: 500_000_000 },
        ...{ periods: 9, throttledPeriods: 4, throttledNs: 3000, burstPeriods: 2, burstNs: 700 },
        ...{ shares: 512, quotaUs: 50_000, periodUs: 100_000 },
      },
      memory: {
        ...{ usageBytes: 3000, workingSetBytes: 2000, rssBytes: 700, cacheBytes: 31, mappedFileBytes: 17 },
        ...{ swapBytes: 10, activeFileBytes: 13, inactiveFileBytes: 1000, pageFaults: 15, majorPageFaults: 12 },
        ...{ kernelBytes: 55, maxUsageBytes: 9999, limitHits: 6, oomKills: 3 },
        ...{ limitBytes: 4096, swapLimitBytes: 8192, reservationBytes: Number.POSITIVE_INFINITY },
      },
      io: { devices: [{ major: 8, minor: 0, readBytes: 101, writeBytes: 102, reads: 103, writes: 104 }] },
    });
  });

  it('figuresV1 reads only the values whose v1 files exist, also if a controller or a second file is missing', () => {
    expect(figuresV1(textsOf({}))).toEqual({});
    expect(figuresV1(textsOf({ 'cpu.shares': '512\n', 'memory.stat': 'total_rss 1\n' }))).toEqual({});
    expect(figuresV1(textsOf({ 'cpuacct.usage': '7\n', 'memory.usage_in_bytes': '5\n' }))).toEqual({
      cpu: { usageNs: 7 },
      memory: {
        ...{ usageBytes: 5, workingSetBytes: 5, rssBytes: 0, cacheBytes: 0, mappedFileBytes: 0, swapBytes: 0 },
        ...{ activeFileBytes: 0, inactiveFileBytes: 0, pageFaults: 0, majorPageFaults: 0 },
      },
    });
  });

  it("figuresV1 prefers the disk scheduler's I/O counters over the throttling counters, as cAdvisor does", () => {
    const files = {
      'blkio.bfq.io_service_bytes_recursive': '8:0 Read 1\n8:0 Write 2\n',
      'blkio.bfq.io_serviced_recursive': '8:0 Read 3\n8:0 Write 4\n',
      'blkio.throttle.io_service_bytes_recursive': '8:0 Read 5\n',
      'blkio.throttle.io_serviced_recursive': '8:0 Read 6\n',
    };
    expect(figuresV1(textsOf(files)).io?.devices).toEqual([
      { major: 8, minor: 0, readBytes: 1, writeBytes: 2, reads: 3, writes: 4 },
    ]);
    const withoutScheduler = { ...files, 'blkio.bfq.io_service_bytes_recursive': 'Total 0\n' };
    expect(
      figuresV1(textsOf({ ...withoutScheduler, 'blkio.bfq.io_serviced_recursive': 'Total 0\n' })).io?.devices,
    ).toEqual([{ major: 8, minor: 0, readBytes: 5, writeBytes: 0, reads: 6, writes: 0 }]);
  });
});

describe('cgroup v2 stats', () => {
  const psi = (total: number) => ({
    text: `some avg10=1.50 avg60=0.50 avg300=0.10 total=${total}\nfull avg10=0.50 avg60=0.40 avg300=0.30 total=9\n`,
    value: {
      some: { total, avg10: 1.5, avg60: 0.5, avg300: 0.1 },
      full: { total: 9, avg10: 0.5, avg60: 0.4, avg300: 0.3 },
    },
  });

  it('figuresV2 reads all values from the files of a v2 cgroup', () => {
    const figures = figuresV2(
      textsOf({
        'cpu.stat': [
          ...['usage_usec 5000000', 'user_usec 1500000', 'system_usec 500000', 'nr_periods 9', 'nr_throttled 4'],
          ...['throttled_usec 3', 'nr_bursts 2', 'burst_usec 7', ''],
        ].join('\n'),
        'cpu.weight': '100\n',
        'cpu.max': '50000 100000\n',
        'cpu.pressure': psi(11).text,
        'memory.current': '3000\n',
        'memory.stat': [
          ...['anon 700', 'file 31', 'kernel 55', 'file_mapped 17', 'inactive_file 1000', 'active_file 13'],
          ...['pgfault 15', 'pgmajfault 12', ''],
        ].join('\n'),
        'memory.swap.current': '10\n',
        'memory.peak': '9999\n',
        'memory.events': 'low 1\nhigh 2\nmax 6\noom 4\noom_kill 3\n',
        'memory.max': '4096\n',
        'memory.swap.max': '8192\n',
        'memory.min': '77\n',
        'memory.pressure': psi(12).text,
        'io.stat': '8:0 rbytes=101 wbytes=102 rios=103 wios=104 dbytes=105 dios=106\n',
        'io.pressure': psi(13).text,
      }),
    );
    expect(figures).toEqual({
      cpu: {
        ...{ usageNs: 5_000_000_000, userNs: 1_500_000_000, systemNs: 500_000_000 },
        ...{ periods: 9, throttledPeriods: 4, throttledNs: 3000, burstPeriods: 2, burstNs: 7000 },
        ...{ shares: 2597, quotaUs: 50_000, periodUs: 100_000, psi: psi(11).value },
      },
      memory: {
        ...{ usageBytes: 3000, workingSetBytes: 2000, rssBytes: 700, cacheBytes: 31, mappedFileBytes: 17 },
        ...{ swapBytes: 10, activeFileBytes: 13, inactiveFileBytes: 1000, pageFaults: 15, majorPageFaults: 12 },
        ...{ kernelBytes: 55, maxUsageBytes: 9999, limitHits: 6, oomKills: 3 },
        ...{ limitBytes: 4096, swapLimitBytes: 8192, reservationBytes: 77, psi: psi(12).value },
      },
      io: {
        devices: [{ major: 8, minor: 0, readBytes: 101, writeBytes: 102, reads: 103, writes: 104 }],
        psi: psi(13).value,
      },
    });
  });

  it('figuresV2 reads only the values whose v2 files exist', () => {
    expect(figuresV2(textsOf({}))).toEqual({});
    expect(figuresV2(textsOf({ 'cpu.stat': 'user_usec 1\n', 'memory.events': 'max 1\n' }))).toEqual({});
    expect(figuresV2(textsOf({ 'cpu.stat': 'usage_usec 7\n', 'memory.current': '5\n' }))).toEqual({
      cpu: { usageNs: 7000 },
      memory: {
        ...{ usageBytes: 5, workingSetBytes: 5, rssBytes: 0, cacheBytes: 0, mappedFileBytes: 0, swapBytes: 0 },
        ...{ activeFileBytes: 0, inactiveFileBytes: 0, pageFaults: 0, majorPageFaults: 0 },
      },
    });
  });

  it('figuresV2 computes the memory usage of the v2 root cgroup as the sum of its parts', () => {
    const { memory } = figuresV2(textsOf({ 'memory.stat': 'anon 700\nfile 31\ninactive_file 11\n' }));
    expect(memory).toMatchObject({ usageBytes: 731, workingSetBytes: 720 });
  });

  it('the working set is never negative, although usage and its parts are read at different moments', () => {
    const { memory } = figuresV2(textsOf({ 'memory.current': '50\n', 'memory.stat': 'inactive_file 60\n' }));
    expect(memory?.workingSetBytes).toBe(0);
  });

  it.each([
    ['0', undefined],
    ['1', 2],
    ['2', 28],
    ['100', 2597],
    ['10000', 262_144],
    ['10001', undefined],
  ])('figuresV2 converts CPU weight %s to %j shares', (weight, shares) => {
    expect(figuresV2(textsOf({ 'cpu.stat': 'usage_usec 7\n', 'cpu.weight': weight })).cpu?.shares).toBe(shares);
  });

  it('figuresV2 reads the CPU quota "max" as no quota', () => {
    const { cpu } = figuresV2(textsOf({ 'cpu.stat': 'usage_usec 7\n', 'cpu.max': 'max 100000\n' }));
    expect(cpu).toMatchObject({ quotaUs: Number.POSITIVE_INFINITY, periodUs: 100_000 });
  });

  it('cgroup v2 stats contain I/O stats if a device was used or the kernel reports I/O pressure', () => {
    const device = { major: 8, minor: 0, readBytes: 1, writeBytes: 0, reads: 0, writes: 0 };
    expect(figuresV2(textsOf({ 'io.stat': '8:0 rbytes=1\n' }))).toEqual({ io: { devices: [device] } });
    expect(figuresV2(textsOf({ 'io.pressure': psi(1).text }))).toEqual({ io: { devices: [], psi: psi(1).value } });
  });
});

describe('groupFiles', () => {
  const names = (version: 1 | 2, detail: Detail): readonly string[] =>
    groupFiles(version, detail).map(({ name }) => name);

  it.each<[1 | 2, Detail, readonly string[]]>([
    [
      ...([1, 'resource'] as const),
      [
        ...['cpuacct.usage', 'memory.stat', 'memory.usage_in_bytes'],
        ...['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'],
      ],
    ],
    [
      ...([2, 'resource'] as const),
      ['cpu.stat', 'memory.stat', 'memory.current', 'memory.max', 'memory.swap.current', 'memory.swap.max'],
    ],
    [1, 'summary', [...names(1, 'resource'), 'cgroup.procs']],
    [2, 'summary', [...names(2, 'resource'), 'cgroup.procs', 'cpu.pressure', 'memory.pressure', 'io.pressure']],
    [1, 'node', names(1, 'summary')],
    [2, 'node', names(2, 'summary')],
  ])('the files that are read of a cgroup v%s for the detail %s are $2', (version, detail, expected) => {
    expect(names(version, detail)).toEqual(expected);
  });

  it.each([
    [1, figuresV1, ['cpuacct.usage', 'memory.usage_in_bytes']],
    [2, figuresV2, ['cpu.stat', 'memory.current']],
  ] as const)(
    'the files of a cgroup v%s for full detail are exactly the files that the stats are computed from',
    (version, figures, needed) => {
      const asked = new Set<string>();
      const texts = new Map<string, string>(
        needed.map((name) => [name, name === 'cpu.stat' ? 'usage_usec 1\n' : '1\n'] as const),
      );
      const get = (name: string): string | undefined => {
        asked.add(name);
        return texts.get(name);
      };
      figures({ get } as typeof texts);
      const ofProcesses = ['cgroup.procs', 'pids.current', 'pids.max'];
      expect([...names(version, 'full')].sort()).toEqual([...asked, ...ofProcesses].sort());
    },
  );

  it('groupFiles reads each cgroup v1 file in the hierarchy of its controller, and the process list in the CPU hierarchy', () => {
    for (const { controller, name } of groupFiles(1, 'full')) {
      expect(name === 'cgroup.procs' ? 'cpu' : name.split('.')[0], name).toBe(controller);
    }
  });
});
