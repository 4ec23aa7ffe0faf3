import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { type ExecutableContent, executable } from './executable.ts';

/** Programs with a code cache. The others are small or rarely loaded. */
const PROGRAMS = ['kubelet', 'nodectl', 'kubectl-why'];

/**
 * Makes V8's code cache of the programs, as assets `PROGRAM.cache`. Each program runs once with `--version`, which loads
 * and initializes all of its modules, and the functions that were compiled for that are in the cache. Node.js' own
 * `useCodeCache` runs nothing, so it would hold no function of any module.
 *
 * A fixed hash seed makes the bytes the same in each build. The run does not include the kubelet's work, because that
 * compiles other functions each time.
 * @param content content of the executable file with the main script `main-with-cache`, for this machine
 */
export function codeCaches(content: ExecutableContent, packer: string): ReadonlyMap<string, Uint8Array> {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-cache-'));
  try {
    const file = path.join(directory, 'kubelet');
    fs.writeFileSync(file, executable({ ...content, flags: ['--hash-seed=1'] }, packer), { mode: 0o755 });
    const caches = PROGRAMS.map((name) => {
      const env = { PATH: process.env.PATH, NODE_AGENT_CODE_CACHE: directory };
      const { status, stderr } = spawnSync(file, ['--version'], { argv0: name, env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`make code cache of ${name}: exit code ${status}: ${stderr}`);
      return [`${name}.cache`, fs.readFileSync(path.join(directory, `${name}.cache`))] as const;
    });
    return new Map(caches);
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}
