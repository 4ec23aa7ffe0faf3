import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../workspace.ts';

/** Architectures of the packages, by Debian's names, with Node.js' names. */
export const ARCHITECTURES: Readonly<Record<Architecture, string>> = { amd64: 'x64', arm64: 'arm64' };
export type Architecture = 'amd64' | 'arm64';

/** Version of Node.js inside the packages. */
const NODE_VERSION = '24.21.0';

/** An unpacked Node.js of npm's package `node-linux-ARCH`. */
export interface NodeProgram {
  /** Path of the program. */
  readonly file: string;
  /** Path of the licence of Node.js, with the licences of all that Node.js contains. */
  readonly license: string;
}

/** Returns the architecture of this machine. @throws Error if no package can be built on this machine */
export function ownArchitecture(): Architecture {
  const found = Object.entries(ARCHITECTURES).find(([, name]) => name === process.arch);
  if (found === undefined || process.platform !== 'linux')
    throw new Error(`build package on ${process.platform}-${process.arch}: must be linux-x64 or linux-arm64`);
  return found[0] as Architecture;
}

/**
 * Returns Node.js for an architecture, from npm. Packages always hold this version, also if another Node.js builds them:
 * the same commit gives the same bytes, and Node.js of a distribution may need libraries that the target lacks.
 */
export function nodeProgram(architecture: Architecture): NodeProgram {
  const name = `node-linux-${ARCHITECTURES[architecture]}`;
  const installed = path.join(root, '.toolchain/node_modules', name);
  const own = path.join(root, '.toolchain/nodes', `${name}-${NODE_VERSION}`);
  const directory = versionIn(installed) === NODE_VERSION ? installed : own;
  if (directory === own && versionIn(own) !== NODE_VERSION) download(`${name}@${NODE_VERSION}`, own);
  return { file: path.join(directory, 'bin/node'), license: path.join(directory, 'LICENSE') };
}

function versionIn(directory: string): unknown {
  const file = path.join(directory, 'package.json');
  return fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')).version : undefined;
}

/** Downloads an npm package for any architecture. npm checks the registry's hash. */
function download(spec: string, to: string): void {
  const parent = path.dirname(to);
  fs.mkdirSync(parent, { recursive: true });
  const directory = fs.mkdtempSync(path.join(parent, '.download-'));
  try {
    const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', directory, spec];
    const [tarball = ''] = execFileSync('npm', args, { encoding: 'utf8' }).trim().split('\n').slice(-1);
    execFileSync('tar', ['-xzf', path.join(directory, path.basename(tarball)), '-C', directory]);
    fs.rmSync(to, { recursive: true, force: true });
    fs.renameSync(path.join(directory, 'package'), to);
  } finally {
    fs.rmSync(directory, { recursive: true, force: true });
  }
}
