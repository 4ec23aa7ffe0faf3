import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  CgroupError,
  cgroupfsPath,
  childName,
  driverPath,
  kubepodsName,
  parseCgroupfsPath,
  parseSystemdPath,
  podName,
  podUidOf,
  qosNames,
  systemdPath,
} from '../src/index.ts';

const part = fc.stringMatching(/^[a-z0-9.]([a-z0-9.-]{0,20}[a-z0-9.])?$/).filter((text) => !['.', '..'].includes(text));
const name = fc.array(part, { maxLength: 5 });

describe('cgroup names', () => {
  test.each([
    { name: [], cgroupfs: '/', systemd: '/' },
    { name: ['kubepods'], cgroupfs: '/kubepods', systemd: '/kubepods.slice' },
    {
      name: ['kubepods', 'burstable', 'pod12-34'],
      cgroupfs: '/kubepods/burstable/pod12-34',
      systemd: '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12_34.slice',
    },
    { name: ['my-root', 'kubepods'], cgroupfs: '/my-root/kubepods', systemd: '/my_root.slice/my_root-kubepods.slice' },
  ])('cgroupfs name $cgroupfs is systemd name $systemd', ({ name, cgroupfs, systemd }) => {
    expect(cgroupfsPath(name)).toBe(cgroupfs);
    expect(systemdPath(name)).toBe(systemd);
    expect(driverPath(name, 'systemd')).toBe(systemd);
    expect(driverPath(name, 'cgroupfs')).toBe(cgroupfs);
  });

  test('every cgroup name can be recovered from its cgroupfs and systemd paths', () => {
    fc.assert(
      fc.property(name, (parts) => {
        expect(parseCgroupfsPath(cgroupfsPath(parts))).toEqual(parts);
        expect(parseSystemdPath(systemdPath(parts))).toEqual(parts);
      }),
    );
  });

  test.each(['', '.', '..', 'a/b', 'a_b', 'a\n', 'a\0'])('W3: %j is not accepted as a name component', (bad) => {
    expect(() => childName(['kubepods'], bad)).toThrowError(expect.objectContaining({ code: 'InvalidName' }));
    expect(() => childName([], bad)).toThrowError(CgroupError);
  });

  test.each(['', '.', '..', 'a/b', '../../b', 'a\n', 'a\0'])(
    'W3: a cgroup name with the component %j has no path',
    (bad) => {
      for (const path of [cgroupfsPath, systemdPath]) {
        expect(() => path(['kubepods', bad])).toThrowError(expect.objectContaining({ code: 'InvalidName' }));
        expect(() => path([bad, 'kubepods'])).toThrowError(CgroupError);
      }
      expect(cgroupfsPath(['with_one'])).toBe('/with_one');
    },
  );

  test("a pod's cgroup is below its QoS class, and its UID is recovered from the last component", () => {
    const qos = qosNames(kubepodsName(['root']));
    expect(Object.values(qos).map((parent) => cgroupfsPath(podName(parent, '12-34')))).toEqual([
      '/root/kubepods/pod12-34',
      '/root/kubepods/burstable/pod12-34',
      '/root/kubepods/besteffort/pod12-34',
    ]);
    expect(['pod12-34', 'pod', 'burstable', 'apod1', 'podpod1'].map(podUidOf)).toEqual([
      ...['12-34', undefined, undefined, undefined, 'pod1'],
    ]);
  });
});
