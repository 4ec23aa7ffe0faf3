// Writes the public surface of every package to packages/*/api, so that each change of it shows up in a review. The
// tool also writes the README sections that list what the classes of a package need. Usage: node
// tools/packaging/src/api/main.ts            compares the committed files with the current declarations, and fails if
// they differ node tools/packaging/src/api/main.ts --write    writes the files: `npm run api` Fails in any case if a
// signature contains a name that no entry exports. The packages must be built.
import fs from 'node:fs';
import path from 'node:path';
import { readConstructors } from '../readme/constructors.ts';
import { packedFor, sectionOf, withSection } from '../readme/section.ts';
import { withKubeletVersion } from '../readme/version.ts';
import { publishedPackages, root } from '../workspace.ts';
import { apiReports } from './reports.ts';
import { reportChanges, unnameable } from './surface.ts';

const packages = publishedPackages();
const reports = apiReports(root, packages);
const faults = [...unnameable(reports), ...reports.flatMap((report) => report.faults)];

const kept = new Map<string, string>();
for (const { directory } of packages) {
  const folder = path.join(root, directory, 'api');
  const names = fs.existsSync(folder) ? fs.readdirSync(folder).sort() : [];
  for (const name of names) kept.set(`${directory}/api/${name}`, fs.readFileSync(path.join(folder, name), 'utf8'));
}

const changes = reportChanges(reports, kept);

const constructors = readConstructors(root, packages);
const kubeletVersion = packages.find(({ shortName }) => shortName === 'kubelet')?.manifest.version ?? '';
const rewritten = (directory: string, rewrite: (readme: string) => string) => {
  const file = path.join(root, directory, 'README.md');
  // A missing README is reported by the check of the manifests.
  if (!fs.existsSync(file)) return [];
  const before = fs.readFileSync(file, 'utf8');
  const after = withKubeletVersion(rewrite(before), kubeletVersion);
  return before === after ? [] : [{ file, text: after }];
};
const readmes = [
  ...rewritten('.', (readme) => readme),
  ...packages.flatMap(({ directory, shortName, manifest }) =>
    rewritten(directory, (readme) =>
      withSection(readme, sectionOf(manifest, shortName, constructors.get(directory), packedFor(readme, shortName))),
    ),
  ),
];

if (process.argv.includes('--write')) {
  for (const file of kept.keys()) fs.rmSync(path.join(root, file));
  for (const { file, text } of reports) {
    fs.mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    fs.writeFileSync(path.join(root, file), text);
  }
  for (const { file, text } of readmes) fs.writeFileSync(file, text);
  console.log(
    `${reports.length} reports and ${packages.length} READMEs: ${changes.length} and ${readmes.length} rewritten`,
  );
} else {
  faults.push(...changes.map(({ fault, lines }) => [`${fault}; run npm run api`, ...lines].join('\n    ')));
  faults.push(
    ...readmes.map(
      ({ file }) =>
        `${path.relative(root, file)}: generated section or kubelet version is out of date; run npm run api`,
    ),
  );
  console.log(`${reports.length} API reports, ${packages.length} READMEs, ${faults.length} faults`);
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
