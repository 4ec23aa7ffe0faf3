import fs from 'node:fs';
import path from 'node:path';

/**
 * Returns the copyright file of a package with this repository's programs: their licence, and the names, licences and
 * licence texts of Node.js and of the npm packages that the programs contain.
 * @param packages directories of the npm packages
 * @param nodeLicense path of Node.js' licence
 */
export function copyright(packages: readonly string[], nodeLicense: string): string {
  const own =
    'node-agent\n\nLicense: Apache-2.0\nOn Debian systems the text is in /usr/share/common-licenses/Apache-2.0.';
  const bundled = packages.map((directory) => {
    const { name, version, license } = JSON.parse(fs.readFileSync(path.join(directory, 'package.json'), 'utf8'));
    const file = fs
      .readdirSync(directory)
      .sort()
      .find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : `\n\n${fs.readFileSync(path.join(directory, file), 'utf8').trim()}`;
    return `${name} ${version}\n\nLicense: ${license}${text}`;
  });
  const node = `Node.js\n\n${fs.readFileSync(nodeLicense, 'utf8').trim()}`;
  return `${[...new Set([own, ...bundled, node])].join(`\n\n${'-'.repeat(80)}\n\n`)}\n`;
}
