import type { PodSpec } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { hugePageSize, isHugePageMedium } from '../src/types/huge-pages.ts';
import { EMPTY_DIRS, errorOf, podOf, ROOT, setUp } from './helpers.ts';

const asking = (...names: string[]): Partial<PodSpec> => ({
  containers: names.map((name) => ({ name, resources: { requests: { cpu: '1', [name]: '4Mi' } } })),
});

describe('hugePageSize', () => {
  it.each([
    ['HugePages', ['hugepages-2Mi'], '2Mi'],
    ['HugePages', ['hugepages-2Mi', 'hugepages-2048Ki'], '2Mi'],
    ['HugePages-1Gi', ['hugepages-2Mi', 'hugepages-1Gi'], '1Gi'],
    ['HugePages-1Gi', ['hugepages-1024Mi'], '1Gi'],
  ])('an emptyDir of medium %s in a pod with the resources %j has the huge page size %s', (medium, names, size) => {
    expect(hugePageSize(medium, podOf([], 'u', asking(...names)))).toBe(size);
  });

  it('the huge page size of an emptyDir follows from the requests of init containers and of the pod, too', () => {
    const requests = { 'hugepages-2Mi': '4Mi' };
    const initContainers = [{ name: 'i', resources: { requests } }];
    expect(hugePageSize('HugePages', podOf([], 'u', { initContainers }))).toBe('2Mi');
    expect(hugePageSize('HugePages', podOf([], 'u', { resources: { requests } }))).toBe('2Mi');
  });

  it.each([
    [
      'HugePages',
      ['memory'],
      'medium HugePages: hugePages storage requested, but there is no resource request for huge pages',
    ],
    [
      'HugePages-1Gi',
      ['hugepages-2Mi'],
      'medium HugePages-1Gi: hugePages storage requested, but there is no resource request for huge pages',
    ],
    [
      'HugePages',
      ['hugepages-2Mi', 'hugepages-1Gi'],
      "medium: HugePages can't be used if container requests multiple huge page sizes",
    ],
    ['HugePages-big', ['hugepages-2Mi'], 'HugePages-big: "big" must be a huge page size'],
    ['HugePages', ['hugepages-big'], 'hugepages-big: "big" must be a huge page size'],
  ])('refuses an emptyDir of medium %s in a pod with the resources %j: %s', (medium, names, message) => {
    expect(() => hugePageSize(medium, podOf([], 'u', asking(...names)))).toThrow(
      expect.objectContaining({ code: 'InvalidSource', message }),
    );
  });

  it('recognises the emptyDir media HugePages and HugePages-<size>', () => {
    expect(['HugePages', 'HugePages-2Mi', 'Memory', '', 'HugePages2Mi'].map(isHugePageMedium)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});

describe('a huge page emptyDir', () => {
  const volume = { name: 'huge', emptyDir: { medium: 'HugePages-2Mi' } };
  const spec = {
    containers: [
      {
        name: 'main',
        resources: { requests: { 'hugepages-2Mi': '4Mi' } },
        volumeMounts: [{ name: 'huge', mountPath: '/h' }],
      },
    ],
    securityContext: { fsGroup: 2000 },
  };

  it('a huge page emptyDir is mounted once, belongs to the fsGroup, and is removed with the pod', async () => {
    const { manager, newManager, mounter, fs, signal } = setUp();
    const pod = podOf([volume], 'u1', spec);
    await manager.waitForAttachAndMount(pod, signal);
    expect(mounter.asked).toEqual(['mount hugetlbfs pagesize=2Mi']);
    expect(await fs.stat(`${ROOT}/pods/u1/${EMPTY_DIRS}/huge`)).toMatchObject({ gid: 2000, mode: 0o2775 });
    const next = newManager();
    await next.waitForAttachAndMount(pod, signal);
    await next.waitForUnmount(pod, signal);
    expect(mounter.asked).toEqual(['mount hugetlbfs pagesize=2Mi', 'unmount']);
    expect(await next.podVolumesExist('u1')).toBe(false);
  });

  it('a huge page emptyDir is refused if the pod requests no huge pages of its size', async () => {
    const { manager, mounter, signal } = setUp();
    const error = await errorOf(manager.waitForAttachAndMount(podOf([volume]), signal));
    expect(error.message).toContain('there is no resource request for huge pages');
    expect(mounter.asked).toEqual([]);
  });
});
