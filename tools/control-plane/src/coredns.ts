import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { goEnvironment } from './build.ts';
import { cacheDirectory } from './cache.ts';
import { run } from './run.ts';

/** CoreDNS version of the cluster's DNS. */
export const COREDNS_VERSION = '1.15.0';

const MODULE = 'github.com/coredns/coredns';
/**
 * CoreDNS plugins that a cluster's DNS needs. With all plugins, the build would include the libraries of cloud
 * providers.
 */
const PLUGINS = ['bind', 'cache', 'errors', 'forward', 'kubernetes', 'loadbalance', 'ready'] as const;

/** Path of CoreDNS in the cache. It contains the number of plugins, because an earlier build had fewer. */
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
 * Builds CoreDNS from its Go module. The build takes two to four minutes on two cores and is cached. @throws Error if
 * the build fails
 */
export async function buildCoreDns(file: string, say: (text: string) => void): Promise<void> {
  say(`building CoreDNS ${COREDNS_VERSION}, which is then cached`);
  const work = `${file}.${process.pid}`;
  await mkdir(work, { recursive: true });
  try {
    const goMod = `module node-agent.local/coredns\ngo 1.26.0\nrequire ${MODULE} v${COREDNS_VERSION}\n`;
    await writeFile(join(work, 'go.mod'), goMod);
    await writeFile(join(work, 'main.go'), mainGo());
    const args = ['go', 'build', '-mod=mod', '-ldflags=-s -w', '-o', 'coredns', '.'];
    await run('nice', args, { cwd: work, env: goEnvironment() });
    await rename(join(work, 'coredns'), file);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
