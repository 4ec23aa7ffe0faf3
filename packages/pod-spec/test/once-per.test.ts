import { expect, it } from 'vitest';
import { oncePer } from '../src/index.ts';

it('oncePer computes the value of each object once, even if the value is undefined', () => {
  const asked: object[] = [];
  const find = oncePer((object: { readonly name?: string }) => {
    asked.push(object);
    return object.name;
  });
  const [a, twin, nameless] = [{ name: 'a' }, { name: 'a' }, {}];
  expect([a, a, twin, nameless, nameless].map(find)).toEqual(['a', 'a', 'a', undefined, undefined]);
  expect(asked).toEqual([a, twin, nameless]);
});

it('oncePer computes the value of an object again if the first computation threw', () => {
  let calls = 0;
  const find = oncePer(() => {
    calls += 1;
    if (calls === 1) throw new Error('not now');
    return calls;
  });
  const object = {};
  expect(() => find(object)).toThrow('not now');
  expect([find(object), find(object)]).toEqual([2, 2]);
});
