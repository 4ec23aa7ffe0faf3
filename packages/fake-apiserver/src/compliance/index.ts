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
 * What a node relies on in an API server, as cases for any test runner: each stands alone and removes what it made. They may
 * run at once, but for those that expire old versions where `compact` is given.
 * @param name a short name of the run, of lower case letters, digits and dashes: objects are called after it
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
