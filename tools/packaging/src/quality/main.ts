// Checks the tarball of every published package with publint and with arethetypeswrong for ES modules.
// Usage: node tools/packaging/src/quality/main.ts    the packages must be built
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pack } from '../pack/pack.ts';
import { entriesOf } from '../workspace.ts';
import { attwFaults, publintFaults } from './verdicts.ts';

const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-quality-'));
const faults: string[] = [];
try {
  const packages = pack(directory);
  for (const { published, tarball } of packages) {
    const data = new Uint8Array(fs.readFileSync(tarball));
    const found = [...(await publintFaults(data)), ...(await attwFaults(data, entriesOf(published).length > 0))];
    faults.push(...found.map((fault) => `${published.name}: ${fault}`));
  }
  console.log(`publint and attw: ${packages.length} packages, ${faults.length} faults`);
} finally {
  fs.rmSync(directory, { recursive: true, force: true });
}
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
