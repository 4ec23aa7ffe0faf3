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
  ])('metadataFieldValue returns the value of %s', (fieldPath, value) => {
    expect(metadataFieldValue({ metadata }, fieldPath)).toBe(value);
  });

  it.each([
    ['spec.nodeName', 'unsupported fieldPath: spec.nodeName'],
    ["metadata.name['x']", "field label does not support subscript: metadata.name['x']"],
    ["metadata.labels['a b']", /^invalid key subscript in metadata\.labels\['a b'\]: name part must consist of/],
    ["metadata.labels['']", /^invalid key subscript in metadata\.labels\[''\]: name part must be non-empty;name part /],
  ])('metadataFieldValue refuses %s', (fieldPath, message) => {
    const read = () => metadataFieldValue({ metadata }, fieldPath);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ code: 'InvalidFieldPath' }));
  });

  it.each(['metadata.labels', 'metadata.annotations', "metadata.labels['a']", "metadata.annotations['a']"])(
    'metadataFieldValue returns an empty text for %s of a pod without labels and annotations',
    (fieldPath) => {
      const { name, namespace, uid } = metadata;
      expect(metadataFieldValue({ metadata: { name, namespace, uid } }, fieldPath)).toBe('');
    },
  );

  it('metadataFieldValue finds an annotation by a key with a capital letter in its prefix, which is not valid in a label key', () => {
    const odd = { ...metadata, annotations: { 'EXAMPLE.com/A': 'x' }, labels: { 'EXAMPLE.com/A': 'y' } };
    expect(metadataFieldValue({ metadata: odd }, "metadata.annotations['EXAMPLE.com/A']")).toBe('x');
    expect(() => metadataFieldValue({ metadata: odd }, "metadata.labels['EXAMPLE.com/A']")).toThrow('prefix part');
  });
});

describe('formatMap', () => {
  it.each([
    ['plain text', '"plain text"'],
    ['"', '"\\""'],
    ['\\', '"\\\\"'],
    ['\x07\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
    ['\0\x1f\x7f', '"\\x00\\x1f\\x7f"'],
    ['\x80', '"\\u0080"'],
    ['é€😀', '"é€😀"'],
    ['\u00a0\u2028\uffff', '"\\u00a0\\u2028\\uffff"'],
    ['\u{10000}', '"\u{10000}"'],
    ['\u{e0001}', '"\\U000e0001"'],
    ['\ud800', '"\ufffd"'],
  ])('formatMap quotes the value %j as Go does', (text, quoted) => {
    expect(formatMap({ a: text })).toBe(`a=${quoted}`);
  });

  it('formatMap writes one line per entry, whatever characters the values contain', () => {
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
    [{ resource: 'limits.cpu', divisor: '' }, '2'],
    [{ resource: 'requests.memory', divisor: '1m' }, String(100 * 2 ** 20)],
  ])('containerResourceValue returns the value for %j', (selector, value) => {
    expect(containerResourceValue(container, selector, (name) => node[name])).toBe(value);
  });

  it.each(['limits.gpu', 'usage.cpu', 'limits', '', 'limits.x-hugepages-', 'limits.cpu.x', 'limits.c.pu'])(
    'containerResourceValue refuses the resource %j',
    (resource) => {
      const message = `unsupported container resource : ${resource}`;
      expect(() => containerResourceValue(container, { resource }, () => undefined)).toThrow(
        expect.objectContaining({ code: 'InvalidFieldPath', message }),
      );
    },
  );

  it.each([
    ['cpu', '8'],
    ['memory', String(2 ** 30)],
    ['ephemeral-storage', '7'],
    ['hugepages-2Mi', '0'],
  ])("for a container without a limit of %s, containerResourceValue returns the node's amount %s", (name, value) => {
    const has: Readonly<Record<string, string>> = { ...node, 'ephemeral-storage': '7', 'hugepages-2Mi': '9' };
    for (const resources of [undefined, {}, { limits: { [name]: '0' } }]) {
      const bare = resources === undefined ? {} : { resources };
      expect(containerResourceValue(bare, { resource: `limits.${name}` }, (of) => has[of])).toBe(value);
      expect(containerResourceValue(bare, { resource: `requests.${name}` }, (of) => has[of])).toBe('0');
    }
    expect(containerResourceValue({}, { resource: `limits.${name}` }, () => undefined)).toBe('0');
  });
});
