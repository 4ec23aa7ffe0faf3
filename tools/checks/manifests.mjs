// Checks that all published packages have uniform manifests, and the files that the manifests name.
import fs from 'node:fs';
import path from 'node:path';
import { root, workspaceManifests } from '../bootstrap/toolchain.mjs';

const HOME = 'https://github.com/node-agent/node-agent';
const WORKSPACE = [/^workspace:\^$/, 'workspace:^'];
const CARET = [/^\^\d+\.\d+\.\d+$/, 'a caret range that starts at the version in the lock file'];
const EXACT = [/^\d/, 'an exact version'];

const faults = [];
let count = 0;
/** Content of all changesets. The first version of every package must have an entry in its changelog. */
const changesets = fs
  .readdirSync(path.join(root, '.changeset'))
  .filter((file) => file.endsWith('.md'))
  .map((file) => fs.readFileSync(path.join(root, '.changeset', file), 'utf8'))
  .join('\n');
for (const file of workspaceManifests()) {
  const directory = path.dirname(file);
  const manifest = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
  if (manifest.private) continue;
  count += 1;
  const want = (condition, text) => condition || faults.push(`${file}: ${text}`);
  const base = directory === 'apps/kubelet' ? 'kubelet' : path.basename(directory);
  want(manifest.name === `@node-agent/${base}`, `name: want @node-agent/${base}`);
  want(
    manifest.version !== '0.0.0' || changesets.includes(`'${manifest.name}': minor`),
    'first version is missing in the changesets: add it to .changeset/first-release.md',
  );
  want(manifest.type === 'module', 'type: want module');
  want(manifest.license === 'Apache-2.0', 'license: want Apache-2.0');
  want(manifest.sideEffects === false, 'sideEffects: want false');
  want(
    typeof manifest.description === 'string' && manifest.description.length > 20,
    "description: must describe the package's purpose",
  );
  want(manifest.engines?.node === '>=22.18', 'engines.node: want >=22.18');
  want(manifest.repository?.url === `git+${HOME}.git`, `repository.url: want git+${HOME}.git`);
  want(manifest.repository?.directory === directory, `repository.directory: want ${directory}`);
  want(
    manifest.homepage === `${HOME}/tree/main/${directory}#readme`,
    `homepage: want ${HOME}/tree/main/${directory}#readme`,
  );
  want(manifest.bugs?.url === `${HOME}/issues`, `bugs.url: want ${HOME}/issues`);
  want(
    ['kubernetes', 'kubelet'].every((word) => manifest.keywords?.includes(word)) && manifest.keywords.length > 2,
    'keywords: must contain kubernetes, kubelet and further search terms',
  );
  want(manifest.publishConfig?.access === 'public', 'publishConfig.access: want public');
  want(manifest.files?.join() === 'dist,src,CHANGELOG.md', 'files: want dist, src (for source maps) and CHANGELOG.md');
  want(fs.existsSync(path.join(root, directory, 'README.md')), 'README.md is missing');
  // A package with a program need not have the entry `.`, so that its files cannot be imported.
  want(manifest.exports?.['.'] || manifest.bin, 'exports: want an entry for .');
  for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
    if (subpath === './package.json' && target === subpath) continue;
    const source = target['@node-agent/source'];
    want(
      source && fs.existsSync(path.join(root, directory, source)),
      `exports[${subpath}]: source ${source} does not exist`,
    );
    want(
      Object.keys(target).join() === '@node-agent/source,types,default',
      `exports[${subpath}]: want source, types, default in this order`,
    );
  }
  for (const group of ['dependencies', 'peerDependencies', 'devDependencies']) {
    for (const [name, version] of Object.entries(manifest[group] ?? {})) {
      const own = name.startsWith('@node-agent/');
      const [pattern, wanted] = own ? WORKSPACE : group === 'devDependencies' ? EXACT : CARET;
      want(pattern.test(version), `${group}.${name}: want ${wanted}`);
    }
  }
}
for (const fault of faults) console.error(fault);
console.log(`${count} published packages, ${faults.length} faults in their manifests`);
process.exit(faults.length > 0 ? 1 : 0);
