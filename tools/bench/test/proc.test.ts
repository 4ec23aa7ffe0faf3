import { spawn } from 'node:child_process';
import { expect, test } from 'vitest';
import { sumOfMetric } from '../src/metrics-text.ts';
import {
  cpuSecondsOfFamily,
  familyOf,
  parseMachineStat,
  parseParent,
  parseSchedstat,
  parseStat,
  parseStatus,
  readUsage,
} from '../src/proc.ts';

test('parseStat finds the CPU times after a name with parentheses and spaces', () => {
  const line =
    '42 (a) b (c) S 1 42 42 0 -1 4194560 100 200 0 0 150 50 30 20 20 0 11 0 12345 1000 200 18446744073709551615';
  expect(parseStat(line)).toEqual({ ownSeconds: 2, childrenSeconds: 0.5 });
});

test('parseStat rejects an invalid line', () => {
  expect(() => parseStat('42 (node) S 1')).toThrow('parse /proc/PID/stat: invalid line');
});

test('parseParent finds the parent after a name with parentheses and spaces', () => {
  expect(parseParent('42 (a) b (c) S 17 42 42 0')).toBe(17);
  expect(() => parseParent('42 (node)')).toThrow('parse /proc/PID/stat: invalid line');
});

test('familyOf returns a process with its children and their children', () => {
  const parents = new Map([
    [10, 1],
    [11, 10],
    [12, 11],
    [13, 1],
  ]);
  expect(familyOf(10, parents)).toEqual([10, 11, 12]);
});

test.runIf(process.platform === 'linux')('cpuSecondsOfFamily includes the CPU time of a running child', async () => {
  const before = await cpuSecondsOfFamily(process.pid);
  const child = spawn('sh', ['-c', 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo done; read line']);
  await new Promise((resolve) => child.stdout.once('data', resolve));
  const { cpuSeconds } = await readUsage(child.pid ?? 0);
  const own = (await readUsage(process.pid)).cpuSeconds;
  expect(cpuSeconds).toBeGreaterThan(0.02);
  expect(await cpuSecondsOfFamily(process.pid)).toBeGreaterThanOrEqual(own + cpuSeconds - 0.01);
  expect(await cpuSecondsOfFamily(process.pid)).toBeGreaterThan(before);
  child.stdin.end();
});

test('parseStatus converts kB to bytes, returns counts unchanged, and 0 for missing fields', () => {
  const text = 'Name:\tnode\nVmHWM:\t   91600 kB\nVmRSS:\t   90000 kB\nvoluntary_ctxt_switches:\t17\n';
  expect(parseStatus(text, 'VmRSS')).toBe(90_000 * 1024);
  expect(parseStatus(text, 'VmHWM')).toBe(91_600 * 1024);
  expect(parseStatus(text, 'voluntary_ctxt_switches')).toBe(17);
  expect(parseStatus(text, 'RssAnon')).toBe(0);
});

test('parseSchedstat converts nanoseconds to seconds and rejects an empty text', () => {
  expect(parseSchedstat('1500000000 20 3\n')).toBe(1.5);
  expect(() => parseSchedstat('')).toThrow('parse schedstat: invalid line');
});

test('parseMachineStat omits idle time, I/O wait and stolen time', () => {
  const stat = 'cpu  100 20 30 9000 800 4 6 700 50 5\ncpu0 1 1 1 1 1 1 1 1 1 1\n';
  expect(parseMachineStat(stat)).toBe(1.6);
  expect(() => parseMachineStat('cpu0 1 2 3 4 5 6 7\n')).toThrow('parse /proc/stat: invalid first line');
  expect(() => parseMachineStat('')).toThrow('parse /proc/stat: invalid first line');
});

test.runIf(process.platform === 'linux')('readUsage returns the usage of the current process', async () => {
  const usage = await readUsage(process.pid);
  expect(usage.cpuSeconds).toBeGreaterThan(0);
  expect(usage.rssBytes).toBeGreaterThan(usage.anonymousBytes);
  expect(usage.peakRssBytes).toBeGreaterThanOrEqual(usage.rssBytes - 1e6);
});

test.runIf(process.platform === 'linux')('readUsage rejects for a process that has exited', async () => {
  const child = spawn('true');
  await new Promise((resolve) => child.on('exit', resolve));
  await expect(readUsage(child.pid ?? 0)).rejects.toThrow();
});

test('sumOfMetric sums the series of one metric that have the required labels', () => {
  const text =
    '# HELP calls_total Calls.\ncalls_total{rpc="a b"} 2\ncalls_total{rpc="c"} 3\ncalls_total_more 7\nnone 1\n';
  expect(sumOfMetric(text, 'calls_total')).toBe(5);
  expect(sumOfMetric(text, 'none')).toBe(1);
  expect(sumOfMetric(text, 'absent')).toBe(0);
  expect(sumOfMetric(text, 'calls_total', { rpc: 'c' })).toBe(3);
  expect(sumOfMetric(text, 'none', { rpc: 'c' })).toBe(0);
  const two = 'n{a="x,b",verb="GET"} 2\nn{a="y",verb="GET"} 4\nn{a="x,b",verb="PUT"} 8\n';
  expect(sumOfMetric(two, 'n', { a: 'x,b', verb: 'GET' })).toBe(2);
});
