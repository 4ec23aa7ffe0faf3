import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { replaceOnce, withNote } from './elf-note.ts';

/** Content of a single executable file. */
export interface ExecutableContent {
  /** Program of Node.js for the target. */
  readonly node: Uint8Array;
  /** Main script. */
  readonly main: string;
  /** Further content by name, which the main script reads with `node:sea`. */
  readonly assets: ReadonlyMap<string, Uint8Array | string>;
  /** Flags of Node.js in addition to the kubelet's. */
  readonly flags?: readonly string[];
}

/**
 * Flags of the kubelet's process, as in the first line of `apps/kubelet/src/main.ts`. NODE_OPTIONS can add flags, as for
 * every Node.js program.
 */
const NODE_FLAGS = ['--max-semi-space-size=4', '--no-maglev', '--no-turbofan', '--v8-pool-size=1'];
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/**
 * Returns a single executable file: Node.js with a main script. Node.js 24 can only pack the content
 * (`--experimental-sea-config`), so this function joins the content and the program. From 25.5 on, `--build-sea` does
 * both.
 * @param packer path of a Node.js program for this machine, of the target's version
 */
export function executable({ node, main, assets, flags = [] }: ExecutableContent, packer: string): Buffer {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'node-agent-sea-'));
  try {
    const write = (name: string, content: Uint8Array | string): string => {
      fs.writeFileSync(path.join(directory, name), content);
      return name;
    };
    const files = [...assets].map(([name, content], index) => [name, write(`${index}.asset`, content)] as const);
    const configuration = {
      main: write('main.js', main),
      output: 'blob',
      disableExperimentalSEAWarning: true,
      execArgv: [...NODE_FLAGS, ...flags],
      assets: Object.fromEntries(files),
    };
    const file = write('sea.json', JSON.stringify(configuration));
    execFileSync(packer, ['--experimental-sea-config', file], { cwd: directory, stdio: 'pipe' });
    const content = fs.readFileSync(path.join(directory, 'blob'));
    const program = withNote(node, { name: 'NODE_SEA_BLOB', content });
    replaceOnce(program, `${FUSE}:0`, `${FUSE}:1`);
    return program;
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}
