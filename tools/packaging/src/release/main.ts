// Releases the packages in two steps, with a commit between them, or rehearses a release:
//   npm run release -- version     sets the versions that the changesets request; review and commit the changes
//   npm run release -- publish     packs the packages, publishes those that npm does not have yet, and tags the commit
//   npm run release -- rehearse    does all of that in a copy of the checkout, with a registry on the loopback
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pack } from '../pack/pack.ts';
import { publishedPackages, root } from '../workspace.ts';
import { npmRegistry } from './npm-registry.ts';
import { givesProvenance } from './provenance.ts';
import { publishMissing } from './publish.ts';
import { pendingChangesets, rehearse } from './rehearse.ts';

const REGISTRY = 'https://registry.npmjs.org/';

const commands: Readonly<Record<string, () => Promise<void> | void>> = {
  version() {
    if (pendingChangesets(root).length === 0) throw new Error('.changeset has no changesets: nothing to release');
    run('changeset', ['version']);
    run('pnpm', ['install', '--lockfile-only']);
    // READMEs contain the version to install.
    run(process.execPath, [path.join(root, 'tools/packaging/src/api/main.ts'), '--write']);
  },
  async publish() {
    const pending = pendingChangesets(root);
    if (pending.length > 0)
      throw new Error(`.changeset/${pending[0]}: pending changeset; run npm run release -- version first`);
    const changed = spawnSync('git', ['status', '--porcelain'], { cwd: root, encoding: 'utf8' }).stdout.trim();
    if (changed !== '') throw new Error(`publish: uncommitted changes:\n${changed}`);
    const unversioned = publishedPackages().find(({ manifest }) => manifest.version === '0.0.0');
    if (unversioned) throw new Error(`${unversioned.directory}/package.json: version: 0.0.0 cannot be published`);
    const output = fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-publish-'));
    try {
      const provenance = givesProvenance(process.env);
      const names = await publishMissing(pack(output), npmRegistry({ url: REGISTRY, provenance }));
      console.log(
        `published${provenance ? ' with provenance' : ''}: ${names.join(', ') || 'nothing, all of it was there'}`,
      );
    } finally {
      fs.rmSync(output, { recursive: true, force: true });
    }
    run('changeset', ['tag']);
  },
  rehearse: () => rehearse(root),
};

const [name = ''] = process.argv.slice(2);
const command = commands[name];
if (command === undefined) {
  console.error(`command must be one of ${Object.keys(commands).join(', ')}, not ${JSON.stringify(name)}`);
  process.exit(2);
}
try {
  await command();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function run(file: string, args: readonly string[]): void {
  const { status, error } = spawnSync(file, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${file} ${args.join(' ')}: ${error?.message ?? `exit code ${status}`}`);
}
