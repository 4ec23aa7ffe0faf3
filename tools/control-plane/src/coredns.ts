import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { goEnvironment } from './build.ts';
import { cacheDirectory } from './cache.ts';
import { fetchChecked, fetchText } from './download.ts';
import { run } from './run.ts';

type Say = (text: string) => void;

/** CoreDNS version of the cluster's DNS. */
export const COREDNS_VERSION = '1.15.0';

const RELEASES = 'https://github.com/coredns/coredns/releases/download';
const MODULE = 'github.com/coredns/coredns';
/**
 * CoreDNS plugins of a build, which a cluster's DNS needs. A build with all plugins would include the libraries of
 * cloud providers.
 */
const PLUGINS = ['bind', 'cache', 'errors', 'forward', 'kubernetes', 'loadbalance', 'ready'] as const;

/**
 * Path of CoreDNS in the cache. The path contains the number of plugins, because an earlier build had fewer plugins.
 */
export function coreDnsFile(): string {
  return join(cacheDirectory(), `coredns-${COREDNS_VERSION}-${PLUGINS.length}`);
}

/** Returns the main program: CoreDNS's own `coredns.go`, but with these plugins only. */
function mainGo(): string {
  return [
    'package main',
    'import (',
    ...PLUGINS.map((name) => `\t_ "${MODULE}/plugin/${name}"`),
    `\t"${MODULE}/coremain"`,
    ')',
    'func main() { coremain.Run() }',
    '',
  ].join('\n');
}

/**
 * Downloads CoreDNS's release and checks its SHA-256, or builds CoreDNS from its Go module, which takes two to four
 * minutes on two cores.
 * @param file path of the program
 * @param releases URL of the releases
 * @throws Error if both fail
 */
export async function bringCoreDns(file: string, say: Say, releases: string = RELEASES): Promise<void> {
  // The program is prepared in a separate directory and renamed at the end, so that concurrent calls do not conflict.
  const work = `${file}.${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    await downloadCoreDns(work, say, releases).catch(async (error: unknown) => {
      say(`${error instanceof Error ? error.message : String(error)}; building CoreDNS ${COREDNS_VERSION} instead`);
      await buildCoreDns(work);
    });
    await rename(join(work, 'coredns'), file);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function downloadCoreDns(work: string, say: Say, releases: string): Promise<void> {
  const arch = { x64: 'amd64', arm64: 'arm64' }[process.arch as string];
  if (arch === undefined) throw new Error(`download CoreDNS: no program is published for ${process.arch}`);
  const archive = `coredns_${COREDNS_VERSION}_linux_${arch}.tgz`;
  const url = `${releases}/v${COREDNS_VERSION}/${archive}`;
  const [sum = ''] = (await fetchText(`${url}.sha256`)).split(/\s/);
  say(`downloading ${url}`);
  await fetchChecked(url, sum, join(work, archive));
  await run('tar', ['-xzf', archive, 'coredns'], { cwd: work });
}

async function buildCoreDns(work: string): Promise<void> {
  const goMod = `module node-agent.local/coredns\ngo 1.26.0\nrequire ${MODULE} v${COREDNS_VERSION}\n`;
  await writeFile(join(work, 'go.mod'), goMod);
  await writeFile(join(work, 'main.go'), mainGo());
  const args = ['go', 'build', '-mod=mod', '-ldflags=-s -w', '-o', 'coredns', '.'];
  await run('nice', args, { cwd: work, env: goEnvironment() });
}
