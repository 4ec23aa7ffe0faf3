import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkPod, withKnownFields } from '../src/index.ts';
import { fieldsOf, readFields } from '../src/type-fields.ts';

let strangers = 0;

describe('the fields of a type', () => {
  it('readFields reads the known fields of a type from a row of the schema table', () => {
    const fields = { name: 's', ports: '[ContainerPort', limits: '{q' };
    expect(Object.fromEntries(readFields('name:s ports:[ContainerPort limits:{q'))).toEqual(fields);
    expect([readFields(''), readFields()]).toEqual([new Map(), new Map()]);
  });

  it('the known fields of the Pod type are those of the v1 API', () => {
    const fields = { apiVersion: 's', kind: 's', metadata: 'ObjectMeta', spec: 'PodSpec', status: 'PodStatus' };
    expect(Object.fromEntries(fieldsOf('Pod'))).toEqual(fields);
    expect([fieldsOf('ObjectMeta').get('labels'), fieldsOf('PodSpec').get('containers')]).toEqual(['{s', '[Container']);
    // The type has a new name each time, because results are cached.
    expect(fieldsOf(`Nonsense${strangers++}`)).toEqual(new Map());
  });
});

describe('withKnownFields', () => {
  it('withKnownFields removes unknown fields at any depth, and keeps keys of maps', () => {
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      spce: {},
      metadata: { name: 'a', labels: { anything: 'goes' }, colour: 'red' },
      spec: {
        nodeSelector: { any: 'key' },
        containers: [{ name: 'c', imag: 'x', env: [{ name: 'A', value: '1', scope: 'all' }] }],
        volumes: [{ name: 'v', emptyDir: { size: 1 }, newVolume: {} }],
      },
    };
    expect(withKnownFields(pod)).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'a', labels: { anything: 'goes' } },
      spec: {
        nodeSelector: { any: 'key' },
        containers: [{ name: 'c', env: [{ name: 'A', value: '1' }] }],
        volumes: [{ name: 'v', emptyDir: {} }],
      },
    });
  });

  it('withKnownFields keeps values of wrong types for checkPod to report', () => {
    const pod = { metadata: 'x', spec: { containers: { name: 'c' }, hostNetwork: 'yes', tolerations: [null, 5] } };
    expect(withKnownFields(pod)).toEqual(pod);
    expect(withKnownFields([1])).toEqual([1]);
    expect(withKnownFields(null)).toBeNull();
    expect(withKnownFields('x')).toBe('x');
    const odd = { spec: { nodeSelector: ['a'], overhead: 'x', nodeName: { a: 1 }, containers: [['a']] } };
    expect(withKnownFields(odd)).toEqual(odd);
  });

  it('after withKnownFields, checkPod finds no unknown field and no new error', () => {
    const shape = fc.record({
      metadata: fc.oneof(fc.jsonValue(), fc.dictionary(fc.string(), fc.jsonValue())),
      spec: fc.record({ containers: fc.array(fc.dictionary(fc.string(), fc.jsonValue())) }),
      other: fc.jsonValue(),
    });
    fc.assert(
      fc.property(shape, (value) => {
        const errors = checkPod(withKnownFields(value));
        expect(errors.filter(({ type }) => type === 'Unknown field')).toEqual([]);
        const before = checkPod(value).map(({ message }) => message);
        if (before.length < 100) expect(before).toEqual(expect.arrayContaining(errors.map(({ message }) => message)));
      }),
    );
  });
});
