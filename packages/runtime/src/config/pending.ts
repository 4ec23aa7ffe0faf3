import type { Container, Pod } from '@node-agent/pod-spec';
import { isMirrorPod, isStaticPod } from '@node-agent/pod-spec';
import { milliValue, type ResourceList } from './quantities.ts';

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
        const milli = amount === undefined ? 0n : milliValue(amount);
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

export function isRestartableInit(c: Container): boolean {
  return c.restartPolicy === 'Always';
}

/** Sum of containers (milli units) of requests or limits, without overhead or pod-level. */
export function aggregateContainers(pod: Pod, kind: 'requests' | 'limits', name: string): bigint | undefined {
  const of = (list: ResourceList | undefined): bigint | undefined =>
    list?.[name] === undefined ? undefined : milliValue(list[name]);
  const add = (a: bigint | undefined, b: bigint | undefined): bigint | undefined =>
    a === undefined ? b : b === undefined ? a : a + b;
  const max = (a: bigint | undefined, b: bigint | undefined): bigint | undefined =>
    a === undefined ? b : b === undefined ? a : a > b ? a : b;
  let sum: bigint | undefined;
  for (const c of pod.spec.containers) sum = add(sum, of(c.resources?.[kind]));
  let sidecars: bigint | undefined;
  let init: bigint | undefined;
  for (const c of pod.spec.initContainers ?? []) {
    const own = of(c.resources?.[kind]);
    if (isRestartableInit(c)) {
      sum = add(sum, own);
      sidecars = add(sidecars, own);
      init = max(init, sidecars);
    } else init = max(init, add(own, sidecars));
  }
  return max(sum, init);
}

export function podAmount(pod: Pod, kind: 'requests' | 'limits', name: string): bigint | undefined {
  const level = pod.spec.resources?.[kind]?.[name];
  return level === undefined ? aggregateContainers(pod, kind, name) : milliValue(level);
}

export function expand(input: string, mapping: (name: string) => string | undefined): string {
  return input.replace(/\$(\$|\(([^)]*)\))/g, (all, what: string, name: string | undefined) =>
    what === '$' ? '$' : (mapping(name ?? '') ?? all),
  );
}
