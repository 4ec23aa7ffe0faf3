import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Scenario, simulate } from '../src/index.ts';

interface OnceBroken {
  /** The behaviour of the kubelet that must hold. */
  readonly title: string;
  /** The message of the former violation. */
  readonly message: string;
  /** The shortest trace that showed the former violation. */
  readonly scenario: Scenario;
}

const directory = new URL('./once-broken/', import.meta.url);

/**
 * Runs the shortest traces of seeds that once failed. The traces are stored as data, because the scenario of a seed
 * changes with the code.
 */
test.each(
  readdirSync(directory).map((file): [string, Scenario] => {
    const { title, scenario } = JSON.parse(readFileSync(new URL(file, directory), 'utf8')) as OnceBroken;
    return [title, scenario];
  }),
)(
  '%s, in a trace that once failed',
  async (_title, scenario) => {
    const result = await simulate(scenario);
    expect(result.violation).toBeUndefined();
    expect(result.elapsedMs).toBeGreaterThan(scenario.faultsEndMs);
  },
  60_000,
);
