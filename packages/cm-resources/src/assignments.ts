/** Values of containers: a map by pod UID of maps by container name. */
type Assignments<T> = ReadonlyMap<string, ReadonlyMap<string, T>>;

/**
 * Removes the value of a container, and the pod's entry if no container of the pod is left.
 * @returns the remaining values, and those of the pod's other containers
 */
export function withoutAssignment<T>(
  all: Assignments<T>,
  podUid: string,
  container: string,
): { readonly assignments: Assignments<T>; readonly others: ReadonlyMap<string, T> } {
  const others = new Map(all.get(podUid));
  others.delete(container);
  const assignments = new Map(all);
  if (others.size === 0) assignments.delete(podUid);
  else assignments.set(podUid, others);
  return { assignments, others };
}
