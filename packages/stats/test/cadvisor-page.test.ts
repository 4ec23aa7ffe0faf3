import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type CadvisorInput, cadvisorMetrics } from '../src/cadvisor-metrics.ts';
import { expositionText } from '../src/exposition.ts';
import type { FileSystemUse } from '../src/file-systems.ts';
import type { GroupCollection } from '../src/group-collection.ts';
import type { GroupFigures } from '../src/group-figures.ts';

const NOW_MS = 1_700_000_000_999;
const psi = (some: number, full: number) => ({
  some: { total: some, avg10: 0, avg60: 0, avg300: 0 },
  full: { total: full, avg10: 0, avg60: 0, avg300: 0 },
});

/** Stats in which no two values are equal, so that the page shows which value each series has. */
const whole: GroupFigures = {
  ...{ path: '/kubepods/pod1/c1', atMs: 1_700_000_000_123, monotonicMs: 5, createdAtMs: 1_600_000_000_900 },
  cpu: {
    ...{ usageNs: 1_100_000_000, userNs: 1_200_000_000, systemNs: 1_300_000_000, shares: 1004, quotaUs: 1005 },
    ...{ periodUs: 1006, periods: 1007, throttledPeriods: 1008, throttledNs: 1_900_000_000, burstPeriods: 1010 },
    ...{ burstNs: 2_100_000_000, psi: psi(2_200_000, 2_300_000) },
  },
  memory: {
    ...{ usageBytes: 2001, workingSetBytes: 2002, rssBytes: 2003, cacheBytes: 2004, mappedFileBytes: 2005 },
    ...{ swapBytes: 2006, activeFileBytes: 2007, inactiveFileBytes: 2008, pageFaults: 2009, majorPageFaults: 2010 },
    ...{ kernelBytes: 2011, maxUsageBytes: 2012, limitHits: 2013, oomKills: 2014, limitBytes: 2015 },
    ...{ swapLimitBytes: 2016, reservationBytes: 2017, psi: psi(2_400_000, 2_500_000) },
  },
  io: {
    devices: [{ major: 8, minor: 1, readBytes: 3001, writeBytes: 3002, reads: 3003, writes: 3004 }],
    psi: psi(2_600_000, 2_700_000),
  },
  processes: { processes: 4001, threads: 4002, maxThreads: 4003, openFiles: 4004, sockets: 4005, maxOpenFiles: 4006 },
  network: [
    {
      ...{ name: 'eth0', rxBytes: 5001, rxPackets: 5002, rxErrors: 5003, rxDropped: 5004 },
      ...{ txBytes: 5005, txPackets: 5006, txErrors: 5007, txDropped: 5008 },
    },
  ],
};

const disk: FileSystemUse = {
  device: '/dev/sda1',
  size: { totalBytes: 7000, freeBytes: 6000, availableBytes: 5900, inodes: 7100, freeInodes: 6100 },
  disk: {
    ...{ reads: 8001, readsMerged: 8002, sectorsRead: 8003, readMs: 8004, writes: 8005, writesMerged: 8006 },
    ...{ sectorsWritten: 8007, writeMs: 8008, inProgress: 8009, ioMs: 8010, weightedMs: 8011 },
  },
};

const machine = {
  ...{ machineId: 'm-1', systemUuid: 's-1', bootId: 'b-1', kernelVersion: '6.12.1', osVersion: 'Debian 13' },
  ...{ cpus: 8, physicalCores: 4, sockets: 2, memoryBytes: 9001, swapBytes: 9002 },
};

const pod = {
  ...{ ref: { name: 'web', namespace: 'shop', uid: '1' }, sandboxId: 's1', createdAtMs: 1_650_000_000_000 },
  containers: [{ id: 'c1', name: 'main', createdAtMs: 1_660_000_000_000, image: 'asked', imageId: 'i1' }],
};

function collection(groups: readonly GroupFigures[], more: Partial<GroupCollection> = {}): GroupCollection {
  const containers = new Map([
    ['s1', '/kubepods/pod1/s1'],
    ['c1', '/kubepods/pod1/c1'],
  ]);
  return {
    ...{ detail: 'full', bootedAtMs: 0, memoryBytes: 9001, swapBytes: 9002, system: [], rates: new Map() },
    groups: new Map(groups.map((group) => [group.path, group])),
    podGroups: { parents: ['/kubepods'], pods: new Map([['1', { uid: '1', path: '/kubepods/pod1', containers }]]) },
    pods: {
      status: 'fulfilled',
      value: { pods: [pod], containers: new Map(), sandboxes: undefined, images: new Map([['c1', 'web:1']]) },
    },
    ...more,
  };
}

function page(groups: readonly GroupFigures[], more: Partial<CadvisorInput> = {}): string {
  return expositionText(
    cadvisorMetrics({
      ...{ machine, groups: collection(groups), fileSystems: [], nowMs: NOW_MS },
      ...{ devices: new Map([['8:1', '/dev/sda1']]), ...more },
    }),
  );
}

const linesOf = (text: string, start: string): readonly string[] =>
  text.split('\n').filter((line) => line.startsWith(start));
const shownOf = (figures: Partial<GroupFigures>): readonly string[] =>
  page([{ path: '/other', atMs: 1_700_000_000_123, monotonicMs: 5, ...figures }])
    .split('\n')
    .filter((line) => line.startsWith('container_') && line.includes('id="/other"'))
    .map((line) => line.replace(/\{.*\}/, '').replace(/ 1700000000123$/, ''));

describe('/metrics/cadvisor page', () => {
  it('/metrics/cadvisor page is byte for byte as expected for a container, a disk and the machine with all values', () => {
    const expected = readFileSync(new URL('./cadvisor-page.txt', import.meta.url), 'utf8');
    expect(page([whole], { fileSystems: [disk] })).toBe(expected);
  });

  it('the /metrics/cadvisor page labels each cgroup with its pod, container and image, and leaves the labels of other cgroups empty', () => {
    const paths = ['/', '/kubepods', '/kubepods/pod1', '/kubepods/pod1/s1', '/kubepods/pod1/c1'];
    const text = page(paths.map((path) => ({ path, atMs: 1, monotonicMs: 1 })));
    const ofPod = 'namespace="shop",pod="web"';
    const nobody = 'namespace="",pod=""';
    expect(linesOf(text, 'container_last_seen{')).toEqual(
      [
        `container="",id="/",image="",name="",${nobody}`,
        `container="",id="/kubepods",image="",name="",${nobody}`,
        `container="",id="/kubepods/pod1",image="",name="",${ofPod}`,
        `container="",id="/kubepods/pod1/s1",image="",name="s1",${ofPod}`,
        `container="main",id="/kubepods/pod1/c1",image="web:1",name="c1",${ofPod}`,
      ].map((labels) => `container_last_seen{${labels}} 1700000000 ${NOW_MS}`),
    );
  });

  it("the start time is the runtime's creation time of a pod or container, otherwise the creation time of the cgroup", () => {
    const made = { atMs: 1, monotonicMs: 1, createdAtMs: 1_600_000_000_900 };
    const text = page([
      { path: '/kubepods', ...made },
      { path: '/kubepods/pod1', ...made },
      { path: '/kubepods/pod1/c1', ...made },
      { path: '/unknown', atMs: 1, monotonicMs: 1 },
    ]);
    const times = linesOf(text, 'container_start_time_seconds{').map((line) =>
      line.replace(/\{.*id="([^"]*)".*\}/, ' $1'),
    );
    expect(times).toEqual([
      'container_start_time_seconds /kubepods 1600000000',
      'container_start_time_seconds /kubepods/pod1 1650000000',
      'container_start_time_seconds /kubepods/pod1/c1 1660000000',
    ]);
  });

  it("the limits of the root cgroup are the machine's memory and swap", () => {
    const text = page([{ ...whole, path: '/' }]);
    expect(linesOf(text, 'container_spec_memory_limit_bytes{')[0]).toMatch(/id="\/".* 9001$/);
    expect(linesOf(text, 'container_spec_memory_swap_limit_bytes{')[0]).toMatch(/id="\/".* 9002$/);
  });

  it.each<[string, Partial<GroupFigures>, readonly string[]]>([
    ['no values', {}, ['container_last_seen 1700000000 1700000000999']],
    [
      'a CPU time of 0, which has no series, as in cAdvisor',
      { cpu: { usageNs: 0 } },
      ['container_last_seen 1700000000 1700000000999'],
    ],
    [
      'one nanosecond of CPU time',
      { cpu: { usageNs: 1 } },
      ['container_cpu_usage_seconds_total 1e-9', 'container_last_seen 1700000000 1700000000999'],
    ],
    [
      'no CPU quota, which omits periods and throttling',
      { cpu: { usageNs: 1e9, quotaUs: Number.POSITIVE_INFINITY, periodUs: 7, periods: 1, throttledNs: 1 } },
      [
        'container_cpu_usage_seconds_total 1',
        'container_last_seen 1700000000 1700000000999',
        'container_spec_cpu_period 7',
      ],
    ],
    [
      'no limits, shown as 0 for memory and threads and -1 for open files',
      {
        processes: { processes: 1, maxThreads: Number.POSITIVE_INFINITY, maxOpenFiles: Number.POSITIVE_INFINITY },
      },
      [
        'container_last_seen 1700000000 1700000000999',
        'container_processes 1',
        'container_threads_max 0',
        'container_ulimits_soft -1',
      ],
    ],
  ])('the series of a cgroup with %s are $2', (_what, figures, expected) => {
    expect(shownOf(figures)).toEqual(expected);
  });

  it('the /metrics/cadvisor page shows absent memory limits as 0', () => {
    const none = Number.POSITIVE_INFINITY;
    const memory = { ...(whole.memory as NonNullable<GroupFigures['memory']>) };
    const limits = { limitBytes: none, swapLimitBytes: none, reservationBytes: none };
    expect(shownOf({ memory: { ...memory, ...limits } }).filter((line) => line.includes('_spec_'))).toEqual([
      'container_spec_memory_limit_bytes 0',
      'container_spec_memory_reservation_limit_bytes 0',
      'container_spec_memory_swap_limit_bytes 0',
    ]);
  });

  it('the /metrics/cadvisor page shows only the usage of a file system whose disk has no kernel counters', () => {
    const { disk: _counts, ...uncounted } = disk;
    const names = page([], { fileSystems: [uncounted] })
      .split('\n')
      .filter((line) => line.startsWith('container_fs_'))
      .map((line) => line.replace(/\{.*\}/, ''));
    expect(names).toEqual([
      `container_fs_inodes_free 6100 ${NOW_MS}`,
      `container_fs_inodes_total 7100 ${NOW_MS}`,
      `container_fs_limit_bytes 7000 ${NOW_MS}`,
      `container_fs_usage_bytes 1000 ${NOW_MS}`,
    ]);
  });

  it('the /metrics/cadvisor page leaves the device label empty for a device without a kernel name', () => {
    const text = page([whole], { devices: new Map() });
    expect(linesOf(text, 'container_fs_reads_total{')[0]).toContain('device="",');
    expect(linesOf(text, 'container_blkio_device_usage_total{')[0]).toContain('device="",');
  });

  it('the /metrics/cadvisor page writes each series once: of several devices without a kernel name only the first is shown', () => {
    const [io] = whole.io?.devices ?? [];
    if (io === undefined) throw new Error('no device');
    const devices = [io, { ...io, minor: 2, reads: 3005, writes: 3006 }];
    const text = page([{ ...whole, io: { devices } }], { devices: new Map() });
    const series = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => line.replace(/(?<=[^ ]) \S+( \d+)?$/, ''));
    expect(series.filter((one, index) => series.indexOf(one) !== index)).toEqual([]);
    expect(linesOf(text, 'container_fs_reads_total{')).toEqual([expect.stringContaining(' 3003 ')]);
    expect(linesOf(text, 'container_blkio_device_usage_total{')).toHaveLength(4);
  });

  it("the /metrics/cadvisor page counts the requests of a device once, by the root cgroup's count or otherwise by the disk's own count", () => {
    const other = { ...disk, device: '/dev/sdb1' };
    const text = page([{ ...whole, path: '/' }, whole], { fileSystems: [disk, other] });
    expect(linesOf(text, 'container_fs_reads_total{').map((line) => line.replace(/container.*device/, ''))).toEqual([
      expect.stringMatching(/^="\/dev\/sda1",id="\/",.* 3003 /),
      expect.stringMatching(/^="\/dev\/sda1",id="\/kubepods.* 3003 /),
      expect.stringMatching(/^="\/dev\/sdb1",id="\/",.* 8001 /),
    ]);
    // If only a container has used a device, the root cgroup has no count of the device.
    const apart = page([whole], { fileSystems: [disk] });
    expect(linesOf(apart, 'container_fs_reads_total{')).toHaveLength(2);
  });

  it('the /metrics/cadvisor page sets the scrape errors if the cgroups, the pods or the machine could not be read', () => {
    const errors = (text: string): readonly string[] => [
      ...linesOf(text, 'container_scrape_error'),
      ...linesOf(text, 'machine_scrape_error'),
    ];
    expect(errors(page([whole]))).toEqual(['container_scrape_error 0', 'machine_scrape_error 0']);
    expect(errors(page([], { groups: undefined }))[0]).toBe('container_scrape_error 1');
    const pods = { status: 'rejected', reason: new Error('gone') } as const;
    expect(errors(page([], { groups: collection([whole], { pods }) }))[0]).toBe('container_scrape_error 1');
    for (const unknown of [{ memoryBytes: 0 }, { cpus: 0 }]) {
      expect(errors(page([whole], { machine: { ...machine, ...unknown } }))[1]).toBe('machine_scrape_error 1');
    }
  });
});
