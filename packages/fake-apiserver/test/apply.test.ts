import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../src/index.ts';
import { applyConfiguration } from '../src/patch/apply.ts';
import { fieldsOf, fromFieldsV1, pathKey, removeAt, showPath, toFieldsV1, valueAt } from '../src/patch/field-set.ts';
import { trackUpdate } from '../src/patch/managed-fields.ts';

const NOW = Date.UTC(2026, 0, 1);

function apply(live: JsonObject | undefined, manager: string, config: JsonObject, force = false): JsonObject {
  const whole = { apiVersion: 'v1', kind: 'Pod', ...config };
  return applyConfiguration(live, whole, {
    kind: 'Pod',
    manager,
    subresource: '',
    apiVersion: 'v1',
    nowMs: NOW,
    force,
  });
}

function update(live: JsonObject, manager: string, changed: JsonObject): JsonObject {
  const object = structuredClone(changed);
  trackUpdate(object, live, { kind: 'Pod', manager, subresource: '', nowMs: NOW });
  return object;
}

const containers = (...items: object[]): JsonObject => ({ spec: { containers: items } });

function owners(object: JsonObject): Record<string, string[]> {
  const { managedFields } = object.metadata as {
    managedFields: { manager: string; operation: string; fieldsV1: unknown }[];
  };
  return Object.fromEntries(
    managedFields.map((entry) => [
      `${entry.manager}/${entry.operation}`,
      [...fromFieldsV1(entry.fieldsV1).values()].map(showPath).sort(),
    ]),
  );
}

describe('server-side apply', () => {
  test('apply merges containers by name, and their ports by port and protocol', () => {
    const first = apply(undefined, 'one', containers({ name: 'a', image: '1', ports: [{ containerPort: 80 }] }));
    const second = apply(
      first,
      'two',
      containers({ name: 'a', ports: [{ containerPort: 80, protocol: 'UDP' }] }, { name: 'b', image: '2' }),
    );
    expect(second.spec).toEqual({
      containers: [
        { name: 'a', image: '1', ports: [{ containerPort: 80 }, { containerPort: 80, protocol: 'UDP' }] },
        { name: 'b', image: '2' },
      ],
    });
  });

  test('apply removes an item that its manager dropped, unless another manager applied it too', () => {
    const both = apply(
      apply(undefined, 'one', containers({ name: 'a' }, { name: 'b' })),
      'two',
      containers({ name: 'b' }),
    );
    const after = apply(both, 'one', containers({ name: 'c' }));
    expect(after.spec).toEqual({ containers: [{ name: 'b' }, { name: 'c' }] });
  });

  test('applying a shared value is no conflict, and applying a different value names the owner and the field', () => {
    const live = apply(undefined, 'one', containers({ name: 'a', image: '1' }));
    expect(() => apply(live, 'two', containers({ name: 'a', image: '1' }))).not.toThrow();
    expect(() => apply(live, 'two', containers({ name: 'a', image: '2' }))).toThrow(
      'Apply failed with 1 conflict: conflict with "one" using v1: .spec.containers[name="a"].image',
    );
  });

  test('an update takes ownership of the fields that it changes, and removed fields have no owner', () => {
    const live = apply(undefined, 'one', { metadata: { labels: { a: '1', b: '2', c: '3' } } });
    const changed = update(live, 'editor', { ...live, metadata: { labels: { a: '1', b: 'new' } } });
    expect(owners(changed)).toEqual({
      'editor/Update': ['.metadata.labels.b'],
      'one/Apply': ['.metadata.labels.a'],
    });
  });

  test('an atomic field has one owner for its whole content', () => {
    const live = apply(undefined, 'one', { spec: { nodeSelector: { a: '1' } } });
    expect(owners(live)).toEqual({ 'one/Apply': ['.spec.nodeSelector'] });
    const forced = apply(live, 'two', { spec: { nodeSelector: { b: '2' } } }, true);
    expect(forced.spec).toEqual({ nodeSelector: { b: '2' } });
    expect(owners(forced)).toEqual({ 'two/Apply': ['.spec.nodeSelector'] });
  });
});

describe('field sets', () => {
  const item = fc.record({ name: fc.constantFrom('a', 'b', 'c'), image: fc.constantFrom('1', '2') });
  const podLike = fc.record({
    metadata: fc.record({
      labels: fc.dictionary(fc.constantFrom('x', 'y', '__proto__'), fc.constantFrom('1', '2')),
      finalizers: fc.uniqueArray(fc.constantFrom('f', 'g', 'h')),
    }),
    spec: fc.record({ containers: fc.uniqueArray(item, { selector: ({ name }) => name }) }),
  });

  test('a field set converted to FieldsV1 and back is unchanged, and every field is found in the object', () => {
    fc.assert(
      fc.property(podLike, (object) => {
        const set = fieldsOf(object as JsonObject, 'Pod');
        expect([...fromFieldsV1(toFieldsV1(set)).keys()].sort()).toEqual([...set.keys()].sort());
        for (const path of set.values()) expect(valueAt(object, path), showPath(path)).not.toBeUndefined();
      }),
    );
  });

  test('removeAt removes a field and nothing else', () => {
    fc.assert(
      fc.property(podLike, fc.nat(), (object, pick) => {
        const before = fieldsOf(object as JsonObject, 'Pod');
        const path = [...before.values()][pick % before.size];
        // An item is identified by its name, so a name is not removed alone.
        if (path === undefined || path.at(-1) === 'f:name') return;
        const copy = structuredClone(object);
        removeAt(copy, path);
        expect(valueAt(copy, path)).toBeUndefined();
        const below = pathKey(path);
        const kept = [...before.keys()].filter((key) => key !== below && !key.startsWith(`${below}\u0000`));
        const after = fieldsOf(copy as JsonObject, 'Pod');
        for (const key of kept) expect(after.has(key) || path.join().startsWith('f:metadata')).toBe(true);
      }),
    );
  });

  test('applying the same configuration twice changes nothing', () => {
    fc.assert(
      fc.property(podLike, podLike, (live, config) => {
        const seeded = apply(undefined, 'other', live as JsonObject);
        const once = apply(seeded, 'me', config as JsonObject, true);
        expect(apply(once, 'me', config as JsonObject, true)).toEqual(once);
      }),
    );
  });
});
