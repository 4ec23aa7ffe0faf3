import type { DashboardExplanation } from '../ports.ts';
import type { PodStory, StoryStep } from '../wire.ts';
import { cut, known } from './cut.ts';

const MAX_TEXT = 600;
const MAX_ENTRIES = 200;
const MAX_NEXT = 8;

/** Returns the timeline of a pod. @param explanation `undefined` if the node does not have the pod */
export function podStory(namespace: string, name: string, explanation: DashboardExplanation | undefined): PodStory {
  const { causes = [], waitingFor = [], next = [], steps = [], events = [] } = explanation ?? {};
  return {
    ...{ namespace, name },
    isKnown: explanation !== undefined,
    causes: causes.slice(0, MAX_ENTRIES).map((text) => cut(text, MAX_TEXT)),
    waits: waitingFor
      .slice(0, MAX_ENTRIES)
      .map(({ what, sinceMs, untilMs }) => known({ what: cut(what, MAX_TEXT), sinceMs, untilMs })),
    next: next.slice(0, MAX_NEXT).map(({ step, target }) => cut(target ? `${step} ${target}` : step, MAX_TEXT)),
    steps: steps.slice(-MAX_ENTRIES).map((one) =>
      known<StoryStep>({
        step: one.step,
        target: one.target && cut(one.target, MAX_TEXT),
        startedAtMs: one.startedAtMs,
        endedAtMs: one.endedAtMs,
        outcome: one.outcome,
        message: one.message && cut(one.message, MAX_TEXT),
        times: one.times,
        isEarlier: one.isEarlier,
      }),
    ),
    events: events.slice(-MAX_ENTRIES).map(({ type, reason, message, count, lastAtMs }) => ({
      ...{ type, count, lastAtMs },
      reason: cut(reason, MAX_TEXT),
      message: cut(message, MAX_TEXT),
    })),
  };
}
