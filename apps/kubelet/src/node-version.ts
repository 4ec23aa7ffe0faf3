/** The oldest Node.js that the packages run on, as the `engines` of their manifests say. */
const OLDEST = [22, 18] as const;

/**
 * Says what is wrong with the Node.js that runs this program; `undefined` where it is recent enough.
 * @param version as `process.versions.node` has it
 */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const recent = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  return recent ? undefined : `needs Node.js ${OLDEST.join('.')} or newer; this is ${version}`;
}
