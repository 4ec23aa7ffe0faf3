/**
 * Returns the name of an enum's value, for printing: `enumName(ContainerState, 2)` is `CONTAINER_EXITED`.
 * @param names an enum of this package
 * @returns `UNRECOGNIZED (7)` for a value that a newer runtime sent and this version does not know
 */
export function enumName(names: Readonly<Record<string, number>>, value: number): string {
  const found = Object.entries(names).find(([, known]) => known === value);
  return found === undefined ? `UNRECOGNIZED (${value})` : found[0];
}
