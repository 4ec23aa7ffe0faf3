import { expect, test } from 'vitest';
import { NameLookup } from '../src/name-lookup.ts';

/** Creates a name lookup whose answers the test gives one by one. */
function lookups(): { readonly names: NameLookup; readonly requested: string[]; readonly answers: (() => void)[] } {
  const requested: string[] = [];
  const answers: (() => void)[] = [];
  const names = new NameLookup((name, _options, answer) => {
    requested.push(name);
    answers.push(() => answer(null, [{ address: `address of ${name}`, family: 4 }]));
  });
  return { names, requested, answers };
}

test('W6: looks up names one at a time and shares one lookup among all callers of a name', () => {
  const { names, requested, answers } = lookups();
  const heard: unknown[] = [];
  const ask = (name: string): (() => void) => names.all(name, (error, [first]) => heard.push([error, first?.address]));
  for (const name of ['silent', 'other', 'silent', 'silent']) ask(name);
  expect(requested).toEqual(['silent']);
  answers.shift()?.();
  expect(heard).toEqual(Array(3).fill([null, 'address of silent']));
  expect(requested).toEqual(['silent', 'other']);
  ask('silent');
  answers.shift()?.();
  expect(heard.at(-1)).toEqual([null, 'address of other']);
  expect(requested).toEqual(['silent', 'other', 'silent']);
  answers.shift()?.();
  expect(heard).toHaveLength(5);
});

test('W6, K4: does not look up names that no caller waits for any more, and keeps no state about them', () => {
  const { names, requested, answers } = lookups();
  const heard: unknown[] = [];
  const ask = (name: string): (() => void) => names.all(name, (_, [first]) => heard.push(first?.address));
  const silent = ask('silent');
  const [first, second] = [ask('left'), ask('left')];
  ask('other');
  for (const callOff of [silent, first, first, second]) callOff();
  // The lookup is still in progress, so a new request for the name shares it.
  ask('silent');
  answers.shift()?.();
  expect([requested, heard]).toEqual([['silent', 'other'], ['address of silent']]);
  answers.shift()?.();
  expect([requested, heard]).toEqual([
    ['silent', 'other'],
    ['address of silent', 'address of other'],
  ]);
  ask('left');
  first();
  answers.shift()?.();
  expect(heard.at(-1)).toBe('address of left');
});
