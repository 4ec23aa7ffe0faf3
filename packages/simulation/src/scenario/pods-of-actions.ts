import type { Action } from './actions.ts';
import type { PodPlan } from './plans.ts';

/** Returns the pods that an action adds. */
export function podsOf(action: Action): readonly PodPlan[] {
  if (action.do === 'serve') return action.pods;
  return action.do === 'writeManifest' || action.do === 'apiCreate' ? [action.pod] : [];
}

/** Returns the actions with each added pod replaced by the result of `draw`. */
export function mapPods(actions: readonly Action[], draw: (pod: PodPlan) => PodPlan): readonly Action[] {
  return actions.map((action) => {
    if (action.do === 'writeManifest' || action.do === 'apiCreate') return { ...action, pod: draw(action.pod) };
    return action.do === 'serve' ? { ...action, pods: action.pods.map(draw) } : action;
  });
}
