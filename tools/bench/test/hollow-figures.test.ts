import { expect, test } from 'vitest';
import { hollowTable } from '../src/hollow/figures.ts';
import { parseHollowOptions } from '../src/hollow/options.ts';

test('hollowTable has one line per number of nodes and pods, and shows - for values that were not measured', () => {
  const idle = {
    ...{ nodes: 100, pods: 0, nodesReadySeconds: 12.34, podsReadySeconds: undefined, cpuMsPerPod: undefined },
    ...{ restShare: 0.0512, rssBytes: 234_500_000, peakRssBytes: 300e6, controlPlaneShare: 0.2, timesNotReady: 0 },
  };
  const table = hollowTable([
    idle,
    { ...idle, pods: 10, podsReadySeconds: 20, cpuMsPerPod: 4.2, timesNotReady: 1, controlPlaneShare: undefined },
  ]);
  const [, , first, second] = table.split('\n').map((line) => line.split(/ {2,}/));
  expect(first).toEqual(['100', '0', '12.3', '-', '-', '5.1', '235', '300', '20.0', '0']);
  expect(second).toEqual(['100', '10', '12.3', '20.0', '4.2', '5.1', '235', '300', '-', '1']);
});

test('parseHollowOptions parses lists of nodes and pods, and rejects pods that do not increase', () => {
  expect(parseHollowOptions(['--nodes', '1,20', '--pods', '0,5'])).toMatchObject({ nodes: [1, 20], pods: [0, 5] });
  expect(() => parseHollowOptions(['--pods', '10,5'])).toThrow('--pods: must be in increasing order, is "10,5"');
  expect(() => parseHollowOptions(['--nodes', '0'])).toThrow('--nodes: must be a number from 1 to 10000, is "0"');
});
