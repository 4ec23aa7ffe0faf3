import { beforeAll, describe, expect, it } from 'vitest';
import { ATTACKS } from '../src/attacks/index.ts';
import { attackVictim, runAttack, successesOf } from '../src/run.ts';
import { attackTable } from '../src/table.ts';
import { Victim } from '../src/victim.ts';

const BOUNDS = { share: 0.2, timeoutMs: 20_000 };

describe('all attacks, scaled to a fifth', () => {
  let victim: Victim;
  beforeAll(async () => {
    victim = await Victim.start();
    return () => victim[Symbol.asyncDispose]();
  }, 60_000);

  it.each(ATTACKS.map((attack) => [attack.name, attack] as const))(
    'the attack "%s" does not succeed',
    { timeout: 60_000 },
    async (attack, one) => {
      expect(await attackVictim(victim, one, BOUNDS)).toMatchObject({ attack, input: one.input, successes: [] });
    },
  );

  it('every attack has a unique name', () => {
    expect(new Set(ATTACKS.map(({ name }) => name)).size).toBe(ATTACKS.length);
  });
});

describe('verdicts of attacks', () => {
  it('an attack that throws or exceeds its time counts as a success', { timeout: 60_000 }, async () => {
    await using victim = await Victim.start();
    const bounds = { share: 1, timeoutMs: 300 };
    const fails = await runAttack(
      { name: 'fails', input: '', run: async () => Promise.reject(new Error('odd')) },
      bounds,
    );
    expect(fails.successes).toEqual(['the attack failed: odd']);
    const hangs = await attackVictim(victim, { name: 'hangs', input: '', run: () => new Promise(() => {}) }, bounds);
    expect(hangs.successes).toEqual(['no end within 300 ms']);
  });

  const well = { observation: { did: '' }, isAlive: true, longestStallMs: 10, leaked: 0, notServed: undefined };
  it.each([
    [{}, []],
    [{ leaked: 10 }, []],
    [{ observation: { did: '', success: 'a file was read' } }, ['a file was read']],
    [{ isAlive: false, longestStallMs: undefined }, ['the victim died']],
    [{ longestStallMs: undefined }, ['the victim does not answer']],
    [{ longestStallMs: 2001 }, ['the event loop stood still for 2001 ms']],
    [{ leaked: 11 }, ['11 descriptors were left']],
    [{ notServed: 'reset' }, ['a well-behaved client was not served: reset']],
  ])('successesOf returns for the outcome %j the reasons %j', (outcome, successes) => {
    expect(successesOf({ ...well, ...outcome })).toEqual(successes);
  });
});

it('the table has a row for each attack, followed by the reasons of successes', () => {
  const held = {
    ...{ attack: 'a', input: 'x | y', did: 'refused', descriptorsBefore: 1, descriptorsAfter: 2 },
    ...{ longestStallMs: 5, served: 3, notServed: 0, successes: [] },
  };
  const won = { ...held, attack: 'b', longestStallMs: undefined, notServed: 1, successes: ['it leaked'] };
  const lines = attackTable([held, won]).split('\n');
  const cells = lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim())
      .slice(1, -1),
  );
  expect(cells[2]).toEqual(['a', 'x \\| y', 'refused', '1 -> 2', '5 ms', 'always (3)', 'held']);
  expect(cells[3]?.slice(4)).toEqual(['no answer', 'not 1 of 4', 'SUCCEEDED']);
  expect(lines.slice(4)).toEqual(['', 'b: it leaked', '']);
});
