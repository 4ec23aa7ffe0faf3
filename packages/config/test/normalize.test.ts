import { stringify } from '@node-agent/yaml';
import { describe, expect, it } from 'vitest';
import { defaultConfiguration, renderConfiguration } from '../src/index.ts';
import { normalizeValue } from '../src/normalize.ts';
import { childPath, isWithin, parentPath } from '../src/path.ts';
import { type FieldType, field, type Json } from '../src/schema/field.ts';
import { DURATION, INT32, list, map, object, STRING } from '../src/schema/types.ts';
import { closest } from '../src/suggest.ts';
import { file, load } from './memory-files.ts';

describe('renderConfiguration', () => {
  it('a rendered configuration loads as the same configuration', async () => {
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

describe('sizes in a rendered configuration', () => {
  it.each([
    [0, '0'],
    [1, '1'],
    [1500, '1500'],
    [-1024, '-1Ki'],
    [2 ** 10, '1Ki'],
    [2 ** 20, '1Mi'],
    [2 ** 30, '1Gi'],
    [2 ** 40, '1Ti'],
    [2 ** 50, '1Pi'],
    [2 ** 60, '1Ei'],
    [2 ** 70, '1024Ei'],
    [1536 * 2 ** 20, '1536Mi'],
  ])('writes a size of %d bytes as %s', (bytes, text) => {
    const rendered = renderConfiguration(defaultConfiguration({ containerLogMaxSizeBytes: bytes }));
    expect(rendered.containerLogMaxSize).toBe(text);
  });
});

describe('normalizeValue', () => {
  it.each<[FieldType, Json, unknown]>([
    [DURATION, '1m30s', 90_000],
    [DURATION, 1_500_000, 1.5],
    [DURATION, 'soon', undefined],
    [DURATION, true, undefined],
    [{ kind: 'bytes' }, '1Ki', 1024],
    [{ kind: 'bytes' }, 'much', 0],
    [list(DURATION), ['1s', '2s'], [1000, 2000]],
    [list(DURATION), '1s', []],
    [map(DURATION), { a: '1s' }, { a: 1000 }],
    [map(DURATION), ['1s'], {}],
    [object('A', 'B.', [field({ name: 'a', type: DURATION, doc: 'A.' })]), { a: '1s' }, { aMs: 1000 }],
    [object('A', 'B.', [field({ name: 'length', type: INT32, doc: 'A.' })]), ['1s'], {}],
    [STRING, '1s', '1s'],
  ])('normalizeValue for the type %j and the value %j returns %j', (type, value, normal) => {
    expect(normalizeValue(type, value)).toEqual(normal);
  });
});

describe('defaultConfiguration', () => {
  it('defaultConfiguration equals the configuration of an empty file', async () => {
    expect(defaultConfiguration()).toEqual((await load({ config: file('') })).configuration);
  });

  it('defaultConfiguration and its rendered file omit fields without a default', () => {
    const configuration = defaultConfiguration();
    for (const name of ['tracing', 'userNamespaces', 'maxParallelImagePulls', 'singleProcessOOMKill']) {
      expect(configuration).not.toHaveProperty(name);
      expect(renderConfiguration(configuration)).not.toHaveProperty(name);
    }
  });

  it('defaultConfiguration replaces defaults by the given values', () => {
    expect(defaultConfiguration({ maxPods: 5 })).toEqual({ ...defaultConfiguration(), maxPods: 5 });
  });
});

describe('paths of configuration fields', () => {
  it.each([
    ['', 'a', 'a'],
    ['a', 'b', 'a.b'],
    ['a', 0, 'a[0]'],
    ['a[0]', 'b', 'a[0].b'],
    ['a', 'b.c', 'a["b.c"]'],
    ['a["b.c"]', 'd', 'a["b.c"].d'],
    ['', 'b.c', '["b.c"]'],
    ['a', 'b[0]', 'a["b[0]"]'],
  ])('in the path %j, the key %j has the path %s, whose parent is the first path', (parent, key, path) => {
    expect(childPath(parent, key)).toBe(path);
    expect(parentPath(path)).toBe(parent);
    expect(isWithin(path, parent)).toBe(true);
    expect(isWithin(parent, path)).toBe(parent === path);
  });

  it('a path is a prefix of another only at the end of a name', () => {
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
    // A name of three or four letters may have one wrong letter, a name of eight letters two.
    ['pot', 'port'],
    ['prtx', undefined],
    ['maxPodzz', 'maxPods'],
    ['ort', 'port'],
    ['xxrt', undefined],
    // Mistakes at the beginning and at the end of a name are added.
    ['portab', undefined],
    ['xxport', undefined],
    ['ortss', undefined],
    // If two known names are equally close, the first one is suggested.
    ['portz', 'port'],
  ])('the closest known name to %s is %s', (name, expected) => {
    expect(closest(name, ['maxPods', 'port', 'ports'])).toBe(expected);
  });
});
