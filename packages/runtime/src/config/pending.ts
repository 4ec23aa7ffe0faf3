import type { Pod } from '@node-agent/pod-spec';
import { isMirrorPod, isStaticPod, parseQuantity } from '@node-agent/pod-spec';

export function podQosClass(pod: Pod): string {
  const given = pod.status?.qosClass;
  if (given) return given;
  const lists = pod.spec.resources
    ? [pod.spec.resources]
    : [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].map((c) => c.resources);
  const sums = { requests: new Map<string, bigint>(), limits: new Map<string, bigint>() };
  let guaranteed = true;
  for (const r of lists) {
    for (const kind of ['requests', 'limits'] as const) {
      for (const name of ['cpu', 'memory']) {
        const amount = r?.[kind]?.[name];
        const milli = amount === undefined ? 0n : parseQuantity(amount).milliValue();
        if (milli > 0n) sums[kind].set(name, (sums[kind].get(name) ?? 0n) + milli);
        else if (kind === 'limits') guaranteed = false;
      }
    }
  }
  if (sums.requests.size === 0 && sums.limits.size === 0) return 'BestEffort';
  for (const [name, milli] of sums.requests) if (sums.limits.get(name) !== milli) guaranteed = false;
  return guaranteed && sums.requests.size === sums.limits.size ? 'Guaranteed' : 'Burstable';
}

export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= 2_000_000_000;
}

export function expand(input: string, mapping: (name: string) => string | undefined): string {
  return input.replace(/\$(\$|\(([^)]*)\))/g, (all, what: string, name: string | undefined) =>
    what === '$' ? '$' : (mapping(name ?? '') ?? all),
  );
}
