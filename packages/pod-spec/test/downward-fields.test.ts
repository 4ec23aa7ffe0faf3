import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatMap, metadataFieldValue } from '../src/metadata-field.ts';
import { containerResourceValue } from '../src/resource-field.ts';

const metadata = {
  name: 'web',
  namespace: 'default',
  uid: 'uid-1',
  labels: { app: 'web', 'example.com/tier': 'front' },
  annotations: { a: 'é\u0001\u200b', b: 'x"\n' },
};

describe('metadataFieldValue', () => {
  it.each([
    ['metadata.name', 'web'],
    ['metadata.namespace', 'default'],
    ['metadata.uid', 'uid-1'],
    ['metadata.labels', 'app="web"\nexample.com/tier="front"'],
    ["metadata.labels['example.com/tier']", 'front'],
    ["metadata.labels['toString']", ''],
    ['metadata.annotations', 'a="é\\x01\\u200b"\nb="x\\"\\n"'],
    ["metadata.annotations['B']", ''],
  ])('%s', (fieldPath, value) => {
    expect(metadataFieldValue({ metadata }, fieldPath)).toBe(value);
  });

  it.each([
    ['spec.nodeName', 'unsupported fieldPath: spec.nodeName'],
    ["metadata.name['x']", "field label does not support subscript: metadata.name['x']"],
    ["metadata.labels['a b']", "invalid key subscript in metadata.labels['a b']"],
    ["metadata.labels['']", "invalid key subscript in metadata.labels['']"],
  ])('refuses %s', (fieldPath, message) => {
    expect(() => metadataFieldValue({ metadata }, fieldPath)).toThrow(message);
  });
});

describe('formatMap', () => {
  it('writes one line for each entry, whatever the values hold', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string({ unit: 'binary' })), (map) => {
        const lines = Object.keys(map).length === 0 ? [] : formatMap(map).split('\n');
        expect(lines.map((line) => line.slice(0, line.indexOf('=')))).toEqual(Object.keys(map).sort());
      }),
    );
  });
});

describe('containerResourceValue', () => {
  const container = {
    resources: { limits: { cpu: '1500m' }, requests: { memory: '100Mi', 'hugepages-2Mi': '4Mi' } },
  };
  const node: Readonly<Record<string, string>> = { cpu: '8', memory: '1Gi' };

  it.each([
    [{ resource: 'limits.cpu' }, '2'],
    [{ resource: 'limits.cpu', divisor: '1m' }, '1500'],
    [{ resource: 'limits.memory', divisor: '0' }, String(2 ** 30)],
    [{ resource: 'limits.ephemeral-storage' }, '0'],
    [{ resource: 'requests.cpu' }, '0'],
    [{ resource: 'requests.memory', divisor: '1M' }, '105'],
    [{ resource: 'requests.hugepages-2Mi', divisor: '1Mi' }, '4'],
    [{ resource: 'limits.hugepages-2Mi' }, '0'],
  ])('%j', (selector, value) => {
    expect(containerResourceValue(container, selector, (name) => node[name])).toBe(value);
  });

  it.each(['limits.gpu', 'usage.cpu', 'limits', ''])('refuses %j', (resource) => {
    expect(() => containerResourceValue(container, { resource }, () => undefined)).toThrow('unsupported container');
  });
});
