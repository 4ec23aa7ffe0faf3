/** Components of a version, `[1, 2, 0]`. */
export type Version = readonly number[];

const GENERIC = /^\s*v?([0-9]+(?:\.[0-9]+)*)/;
const MAX_COMPONENT_DIGITS = 15;

/**
 * Parses a version of at least two numbers, such as `1.2.0` or `v1.0-rc1` (`apimachinery/pkg/util/version:
 * ParseGeneric`). Text after the numbers is ignored. @returns a text with the reason if `text` is no version
 */
export function parseVersion(text: string): Version | string {
  const shown = JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 64)}...`);
  const numbers = GENERIC.exec(text)?.[1];
  if (numbers === undefined) return `could not parse ${shown} as version`;
  const components = numbers.split('.');
  if (components.length < 2) return `illegal version string ${shown}`;
  if (components.some((one) => one.length > 1 && one.startsWith('0'))) {
    return `illegal zero-prefixed version component in ${shown}`;
  }
  if (components.some((one) => one.length > MAX_COMPONENT_DIGITS)) return `illegal version string ${shown}`;
  return components.map(Number);
}

/** Returns a negative number if `a` is lower than `b`, 0 if they are equal; missing components count as 0. */
export function compareVersions(a: Version, b: Version): number {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * Returns the highest version below 2, which must be a 1.x version (`apimachinery/pkg/util/version:
 * HighestSupportedVersion`). @returns a text with the reason if there is no such version
 */
export function highestSupportedVersion(texts: readonly string[]): Version | string {
  let highest: Version | undefined;
  let reason = 'none is below 2';
  for (const text of texts) {
    const version = parseVersion(text);
    if (typeof version === 'string') reason = version;
    else if ((version[0] ?? 0) <= 1 && (highest === undefined || compareVersions(highest, version) < 0))
      highest = version;
  }
  if (highest === undefined) return `could not find a highest supported version: ${reason}`;
  if (highest[0] !== 1) return `highest supported version reported is ${highest.join('.')}, must be v1.x`;
  return highest;
}
