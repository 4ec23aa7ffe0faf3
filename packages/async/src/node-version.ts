// Imports nothing: a program reads it before anything that an old Node.js cannot read.

/** As the `engines` of the manifests say. */
const OLDEST = [22, 18] as const;

/** The oldest Node.js that the packages run on, for people: `22.18`. */
export const OLDEST_NODE: string = OLDEST.join('.');

/**
 * Says what is wrong with the Node.js that runs this program; `undefined` if it is recent enough.
 * @param version as `process.versions.node` has it
 */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const recent = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  return recent ? undefined : `needs Node.js ${OLDEST_NODE} or newer; this is ${version}`;
}
