import { type ComplianceCase, type ComplianceOptions, Harness } from './harness.ts';
import { reflectorCases } from './reflectors.ts';
import { requestCases } from './requests.ts';

export type { ComplianceCase, ComplianceClient, ComplianceOptions } from './harness.ts';

/**
 * The cases that this client and any API server must pass together: the same for a fake one and a real one. Each makes its
 * objects in one namespace, under names that begin with `name`, and takes them away.
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
