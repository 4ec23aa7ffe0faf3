import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sharingEqualParts } from '../src/sharing-equal-parts.ts';

describe('sharing equal parts of two versions', () => {
  const pod = () => ({
    metadata: { name: 'a', resourceVersion: '1', labels: { app: 'web' } },
    spec: { containers: [{ name: 'main', image: 'x' }, { name: 'side' }] },
    status: { conditions: [{ type: 'Ready', status: 'False' }] },
  });

  test('sharingEqualParts returns the previous object for an equal version', () => {
    const previous = pod();
    expect(sharingEqualParts(previous, pod())).toBe(previous);
  });

  test('sharingEqualParts reuses the spec and the labels of the previous version if only the status changed', () => {
    const previous = pod();
    const next = { ...pod(), status: { conditions: [{ type: 'Ready', status: 'True' }] } };
    next.metadata.resourceVersion = '2';
    const shared = sharingEqualParts(previous, next);
    expect(shared).toEqual(next);
    expect(shared.spec).toBe(previous.spec);
    expect(shared.metadata.labels).toBe(previous.metadata.labels);
    expect(shared.status).not.toBe(previous.status);
    expect(previous).toEqual(pod());
  });

  test('sharingEqualParts reuses the other containers of the previous version if one container changed', () => {
    const previous = pod();
    const next = pod();
    Object.assign(next.spec.containers[0] ?? {}, { image: 'y' });
    const { containers } = sharingEqualParts(previous, next).spec;
    expect(containers).toEqual([{ name: 'main', image: 'y' }, { name: 'side' }]);
    expect(containers[1]).toBe(previous.spec.containers[1]);
  });

  const unlike: readonly (readonly [what: string, previous: unknown, next: unknown])[] = [
    ['no previous version', undefined, { a: 1 }],
    ['an object instead of an array', [1], { 0: 1 }],
    ['an array instead of an object', { 0: 1 }, [1]],
    ['null instead of an object', { a: { b: 1 } }, { a: null }],
    ['an object instead of null', { a: null }, { a: { b: 1 } }],
    ['a removed field', { a: 1, b: 2 }, { a: 1 }],
    ['an additional field', { a: 1 }, { a: 1, b: 2 }],
    ['another field', { a: 1 }, { b: 1 }],
    ['a shorter array', [1, 2], [1]],
    ['a longer array', [1], [1, 2]],
    ['a field named like a method of all objects', {}, { toString: { a: 1 } }],
    ['a field named __proto__', JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":2}}')],
  ];
  test.each(unlike)('sharingEqualParts returns the new value if the change is %s', (_what, previous, next) => {
    expect(JSON.stringify(sharingEqualParts(previous, next))).toBe(JSON.stringify(next));
  });

  test('sharingEqualParts returns a value that equals the new version', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.jsonValue({ maxDepth: 4 }), (previous, next) => {
        expect(sharingEqualParts(previous, next)).toEqual(next);
        expect(sharingEqualParts(next, structuredClone(next))).toBe(next);
      }),
    );
  });
});
