import type { Pod } from '@node-agent/pod-spec';

/** What is found out of a pod once, and not for each of its volumes, of which it may have thousands: a pod as it is in memory never changes. */
export function oncePerPod<T>(find: (pod: Pod) => T): (pod: Pod) => T {
  const found = new WeakMap<Pod, T>();
  return (pod) => {
    const value = found.get(pod) ?? find(pod);
    found.set(pod, value);
    return value;
  };
}
