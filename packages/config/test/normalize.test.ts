import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { defaultConfiguration, renderConfiguration } from '../src/index.ts';
import { childPath, isWithin, parentPath } from '../src/path.ts';
import { closest } from '../src/suggest.ts';
import { file, load } from './memory-files.ts';

describe('renderConfiguration', () => {
  it('gives a file that loads as the same configuration', async () => {
    const { configuration } = await load({
      config: file(
        [
          'syncFrequency: 90s',
          'containerLogMaxSize: 1500Ki',
          'evictionSoft: {memory.available: 1Gi}',
          'evictionSoftGracePeriod: {memory.available: 1m30s}',
          'registerWithTaints: [{key: a, effect: NoSchedule}]',
          'maxParallelImagePulls: 3',
          'featureGates: {CustomCPUCFSQuotaPeriod: true}',
          'cpuCFSQuotaPeriod: 1500us',
        ].join('\n'),
      ),
    });
    const rendered = renderConfiguration(configuration);
    expect(rendered).toMatchObject({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      syncFrequency: '1m30s',
      containerLogMaxSize: '1500Ki',
      evictionSoftGracePeriod: { 'memory.available': '1m30s' },
      cpuCFSQuotaPeriod: '1.5ms',
      serializeImagePulls: false,
    });
    expect((await load({ config: stringify(rendered, { version: '1.1' }) })).configuration).toEqual(configuration);
    expect((await load({ config: JSON.stringify(rendered) })).configuration).toEqual(configuration);
  });
});

describe('defaultConfiguration', () => {
  it('is what an empty file gives', async () => {
    expect(defaultConfiguration()).toEqual((await load({ config: file('') })).configuration);
  });

  it('takes other values for some properties', () => {
    expect(defaultConfiguration({ maxPods: 5 })).toEqual({ ...defaultConfiguration(), maxPods: 5 });
  });
});

describe('paths', () => {
  it.each([
    ['', 'a', 'a'],
    ['a', 'b', 'a.b'],
    ['a', 0, 'a[0]'],
    ['a[0]', 'b', 'a[0].b'],
    ['a', 'b.c', 'a["b.c"]'],
    ['a["b.c"]', 'd', 'a["b.c"].d'],
  ])('%j and %j make %s, and back', (parent, key, path) => {
    expect(childPath(parent, key)).toBe(path);
    expect(parentPath(path)).toBe(parent);
    expect(isWithin(path, parent)).toBe(true);
    expect(isWithin(parent, path)).toBe(parent === path);
  });

  it('do not take one name for the beginning of another', () => {
    expect(isWithin('evictionHardly', 'evictionHard')).toBe(false);
    expect(isWithin('port', 'port')).toBe(true);
  });
});

describe('closest', () => {
  it.each([
    ['maxPod', 'maxPods'],
    ['MAXPODS', 'maxPods'],
    ['port', 'port'],
    ['xxxx', undefined],
  ])('of %s is %s', (name, expected) => {
    expect(closest(name, ['maxPods', 'port', 'ports'])).toBe(expected);
  });
});
