import { describe, expect, it } from 'vitest';
import { podAddresses } from '../src/pod-addresses.ts';
import { makePod } from './make-pod.ts';

describe('podAddresses', () => {
  const own = makePod({});
  const host = makePod({ hostNetwork: true });
  it.each([
    [own, [], ['192.0.2.1'], []],
    [own, ['10.0.0.5'], [], ['10.0.0.5']],
    [own, ['fd00::5', '10.0.0.5'], ['192.0.2.1'], ['10.0.0.5', 'fd00::5']],
    [own, ['fd00::5', '10.0.0.5'], ['2001:db8::1', '192.0.2.1'], ['10.0.0.5', 'fd00::5']],
    [own, ['10.0.0.5', 'fd00::5'], ['192.0.2.1'], ['fd00::5', '10.0.0.5'], 6],
    [own, ['10.0.0.5', '10.0.0.6', 'fd00::5', 'fd00::6'], [], ['10.0.0.5', 'fd00::5']],
    [own, ['fd00::5'], ['192.0.2.1'], ['fd00::5']],
    [host, [], ['192.0.2.1', '2001:db8::1'], ['192.0.2.1', '2001:db8::1']],
    [host, [], ['2001:db8::1', '192.0.2.1'], ['2001:db8::1', '192.0.2.1']],
    [host, ['192.0.2.7'], ['192.0.2.1'], ['192.0.2.7']],
  ] as const)(
    '%#: a pod %j with the IPs %j on a node with the IPs %j has the IPs %j, the preferred family first',
    (pod, podIps, hostIps, expected, family?: 4 | 6) => {
      expect(podAddresses(pod, podIps, hostIps, family)).toEqual(expected);
    },
  );
});
