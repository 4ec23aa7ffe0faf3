// What the tests of a mutated package load first: it says which mutant is alive, and notes which ones are come upon.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';

const alive = Number(process.env.NODE_AGENT_MUTANT ?? 0);
const directory = process.env.NODE_AGENT_MUTANT_HITS;
const limit = Number(process.env.NODE_AGENT_MUTANT_LIMIT ?? Number.POSITIVE_INFINITY);
const hits = new Map<number, number>();
let calls = 0;

Object.assign(globalThis, {
  __mutants: {
    is(id: number): boolean {
      calls++;
      // A mutant may make a loop endless, which no timeout of a test ends.
      if (calls > limit) throw new Error('the mutant does not come to an end');
      if (directory !== undefined) hits.set(id, (hits.get(id) ?? 0) + 1);
      return id === alive;
    },
  },
});

if (directory !== undefined) {
  afterAll(() => {
    const file = expect.getState().testPath ?? '';
    mkdirSync(directory, { recursive: true });
    writeFileSync(
      join(directory, `${Buffer.from(file).toString('hex').slice(-200)}.json`),
      JSON.stringify({ file, ids: [...hits.keys()], calls }),
    );
  });
}
