import type { AssemblySettings } from '@node-agent/kubelet-assembly';
import type { NodePlan } from '../scenario/actions.ts';
import { managerSettings } from '../world/machine.ts';

/**
 * Returns the kubelet's settings for the CPU, memory and topology managers. Returns no settings on a node without these
 * managers.
 * @param changes number of changes of the policies
 */
export function numaSettings(
  { numa }: NodePlan,
  changes: number,
): Pick<AssemblySettings, 'resourceManagers' | 'resize'> {
  const policies = numa?.policies[Math.min(changes, numa.policies.length - 1)];
  if (numa === undefined || policies === undefined) return {};
  return {
    resourceManagers: managerSettings(numa, policies),
    resize: { staticCpus: policies.cpu === 'static', staticMemory: policies.memory === 'Static' },
  };
}
