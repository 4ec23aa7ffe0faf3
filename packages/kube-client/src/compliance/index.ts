import { type ComplianceCase, type ComplianceOptions, Harness } from './harness.ts';
import { reflectorCases } from './reflectors.ts';
import { requestCases } from './requests.ts';

export type { ComplianceCase, ComplianceClient, ComplianceOptions } from './harness.ts';

/**
 * Returns the cases that this client and any API server, fake or real, must pass together. Each case creates its
 * objects in one namespace, with names that begin with `name`, and deletes them at its end.
 */
export function kubeClientCompliance(name: string, options: () => ComplianceOptions): readonly ComplianceCase[] {
  return [...requestCases, ...reflectorCases].map(([title, examine], i) => ({
    name: title,
    async run(skip) {
      await using harness = new Harness(options(), `${name}-${i}`);
      await harness.prepare();
      await examine(harness, skip);
    },
  }));
}
