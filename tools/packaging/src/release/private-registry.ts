import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { freePorts } from '@node-agent/tools-ports';

const VERDACCIO = '6.10.4';
const START_TIMEOUT_MS = 60_000;
/** Manifest of the verdaccio installation. The override replaces a tag of node-fetch that a mirror may not have. */
const MANIFEST = JSON.stringify({
  private: true,
  dependencies: { verdaccio: VERDACCIO },
  overrides: { 'node-fetch@cjs': '2.7.0' },
});

/** Registry on the loopback that accepts packages of the scope from anyone and serves no other packages. */
export interface PrivateRegistry extends AsyncDisposable {
  readonly url: string;
  /** Path of an .npmrc for publishing to this registry. */
  readonly userConfig: string;
}

/**
 * Starts verdaccio with its storage in `directory`. Installs verdaccio from npm into `toolDirectory` if verdaccio is
 * not there yet.
 * @throws Error with verdaccio's output if verdaccio exits instead of listening
 */
export async function startPrivateRegistry(directory: string, toolDirectory: string): Promise<PrivateRegistry> {
  const program = bringVerdaccio(toolDirectory);
  const [port] = await freePorts(1);
  const address = `127.0.0.1:${port}`;
  const config = path.join(directory, 'verdaccio.yaml');
  // JSON is valid YAML.
  fs.writeFileSync(config, JSON.stringify(configOf(directory)));
  const userConfig = path.join(directory, 'npmrc');
  // npm requires a token to publish; this registry does not check it.
  fs.writeFileSync(userConfig, `//${address}/:_authToken=anybody\n`);

  const child = spawn(process.execPath, [program, '--config', config, '--listen', address], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const tooLate = setTimeout(() => child.kill('SIGKILL'), START_TIMEOUT_MS);
  const said: string[] = [];
  const ended = once(child, 'exit');
  const listening = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface(stream).on('line', (line) => {
        said.push(line);
        if (line.includes('http address')) resolve();
      });
    }
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`verdaccio exited with ${code}:\n${said.join('\n')}`)));
  });
  await listening.finally(() => clearTimeout(tooLate));
  return {
    url: `http://${address}/`,
    userConfig,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Installs verdaccio if needed. @returns the path of its program */
function bringVerdaccio(directory: string): string {
  const manifest = path.join(directory, 'package.json');
  const program = path.join(directory, 'node_modules/verdaccio/bin/verdaccio');
  const isThere = fs.existsSync(manifest) && fs.readFileSync(manifest, 'utf8') === MANIFEST && fs.existsSync(program);
  if (isThere) return program;
  console.log(`installing verdaccio ${VERDACCIO} from npm into ${directory}`);
  fs.mkdirSync(directory, { recursive: true });
  fs.rmSync(manifest, { force: true });
  const next = fs.mkdtempSync(path.join(directory, '.next-'));
  try {
    fs.writeFileSync(path.join(next, 'package.json'), MANIFEST);
    const args = ['install', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts', '--loglevel=error'];
    const { status, stderr, error } = spawnSync('npm', args, { cwd: next, encoding: 'utf8' });
    if (status !== 0) throw new Error(`install verdaccio: ${error?.message ?? stderr}`);
    fs.rmSync(path.join(directory, 'node_modules'), { recursive: true, force: true });
    fs.renameSync(path.join(next, 'node_modules'), path.join(directory, 'node_modules'));
    fs.renameSync(path.join(next, 'package.json'), manifest);
  } finally {
    fs.rmSync(next, { recursive: true, force: true });
  }
  return program;
}

function configOf(directory: string): object {
  return {
    storage: path.join(directory, 'storage'),
    auth: { htpasswd: { file: path.join(directory, 'htpasswd'), max_users: -1 } },
    packages: { '@node-agent/*': { access: '$all', publish: '$all', unpublish: '$all' } },
    max_body_size: '50mb',
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
  };
}
