import type { Action } from './actions.ts';
import type { PodPlan } from './plans.ts';

/** The pods that an action brings. */
export function podsOf(action: Action): readonly PodPlan[] {
  if (action.do === 'serve') return action.pods;
  return action.do === 'writeManifest' || action.do === 'apiCreate' ? [action.pod] : [];
}

/** The actions with another plan for each pod that they bring. */
export function mapPods(actions: readonly Action[], draw: (pod: PodPlan) => PodPlan): readonly Action[] {
  return actions.map((action) => {
    if (action.do === 'writeManifest' || action.do === 'apiCreate') return { ...action, pod: draw(action.pod) };
    return action.do === 'serve' ? { ...action, pods: action.pods.map(draw) } : action;
  });
}
