import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

/** Returns a package's tarball with these files, in npm's layout. */
export function tarballOf(files: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-tarball-'));
  try {
    for (const [name, text] of Object.entries(files)) {
      const file = path.join(directory, 'package', name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, text);
    }
    const { status, stdout, stderr } = spawnSync('tar', ['-czf', '-', '-C', directory, 'package']);
    if (status !== 0) throw new Error(`tar: ${stderr}`);
    return new Uint8Array(stdout);
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}
