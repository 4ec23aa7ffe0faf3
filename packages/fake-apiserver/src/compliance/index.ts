import { accessExaminations } from './access.ts';
import { deletionExaminations } from './deletion.ts';
import { kindExaminations } from './kinds.ts';
import { listExaminations } from './lists.ts';
import { objectExaminations } from './objects.ts';
import { patchExaminations } from './patches.ts';
import { protocolExaminations } from './protocol.ts';
import { type ComplianceCase, type ComplianceOptions, Scene } from './scene.ts';
import { watchExaminations } from './watches.ts';

export type { CaseContext, ComplianceCase, ComplianceOptions } from './scene.ts';

/**
 * Returns the behaviour that a node relies on in an API server, as cases for any test runner. Each case is independent
 * and removes what it has created. The cases may run concurrently, except that the cases about expired versions affect
 * others if `compact` is given.
 * @param name a short name of the run, of lower case letters, digits and dashes; the names of the test objects contain
 * it
 */
export function apiServerCompliance(name: string, options: ComplianceOptions): readonly ComplianceCase[] {
  const groups = {
    objects: objectExaminations,
    patches: patchExaminations,
    deletion: deletionExaminations,
    lists: listExaminations,
    watches: watchExaminations,
    kinds: kindExaminations,
    access: accessExaminations,
    protocol: protocolExaminations,
  };
  return Object.entries(groups).flatMap(([group, examinations]) =>
    examinations.map(([title, examine], index) => ({
      name: `${group}: ${title}`,
      async run(context) {
        const scene = new Scene(options, await options.connect(), `${name}-${group}-${index}`, context);
        try {
          await scene.prepare();
          await examine(scene);
        } finally {
          await scene.clear();
        }
      },
    })),
  );
}
