// This file imports nothing: a program loads it before any module that an old Node.js cannot parse.

/**
 * Oldest supported Node.js version, as major and minor number. The same version is in `engines` of the package
 * manifests.
 */
const OLDEST = [22, 18] as const;

/** Oldest Node.js version that the packages support, as text: `22.18`. */
export const OLDEST_NODE: string = OLDEST.join('.');

/**
 * Returns a message if the running Node.js is too old, or `undefined` if it is recent enough.
 * @param version value of `process.versions.node`
 */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const recent = major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
  return recent ? undefined : `needs Node.js ${OLDEST_NODE} or newer; this is ${version}`;
}
