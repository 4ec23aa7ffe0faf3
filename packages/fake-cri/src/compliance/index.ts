import { containerExaminations } from './containers.ts';
import { eventExaminations } from './events.ts';
import { imageExaminations } from './images.ts';
import { logExaminations } from './logs.ts';
import { processExaminations } from './processes.ts';
import { runtimeExaminations } from './runtime.ts';
import { sandboxExaminations } from './sandboxes.ts';
import { type ComplianceCase, type ComplianceOptions, Scene } from './scene.ts';
import { stoppingExaminations } from './stopping.ts';
import { streamExaminations } from './streams.ts';

export type { CaseContext, ComplianceCase, ComplianceOptions } from './scene.ts';

/**
 * Returns the behaviour that the kubelet relies on in a runtime of CRI v1, as cases for any test runner. Each case is
 * independent and removes what it has created, so the cases may run concurrently. A case about an RPC that the runtime
 * does not implement is skipped with this reason.
 * @param name a short name of the runtime, of letters, digits and dashes; the names of the test pods contain it
 */
export function runtimeCompliance(name: string, options: ComplianceOptions): readonly ComplianceCase[] {
  const groups = {
    sandboxes: sandboxExaminations,
    containers: containerExaminations,
    stopping: stoppingExaminations,
    processes: processExaminations,
    logs: logExaminations,
    images: imageExaminations,
    runtime: runtimeExaminations,
    events: eventExaminations,
    streams: streamExaminations,
  };
  return Object.entries(groups).flatMap(([group, examinations]) =>
    examinations.map(([title, examine], index) => ({
      name: `${group}: ${title}`,
      async run(context) {
        const scene = new Scene(options, await options.connect(), `${name}-${group}-${index}`, context);
        try {
          await examine(scene);
        } finally {
          await scene.clear();
        }
      },
    })),
  );
}
