import { describe, test } from 'vitest';
import { apiServerCompliance, type ComplianceOptions } from '../src/compliance/index.ts';

/** Registers the cases of the compliance suite as tests of vitest. */
export function examine(name: string, options: ComplianceOptions): void {
  describe(`${name} complies`, { timeout: 60_000 }, () => {
    for (const item of apiServerCompliance(name, options)) {
      test(item.name, async (context) => item.run({ skip: (reason) => context.skip(reason) }));
    }
  });
}
