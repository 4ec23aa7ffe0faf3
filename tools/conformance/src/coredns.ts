import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { run } from './run.ts';

/** CoreDNS version of the cluster's DNS. */
export const COREDNS_VERSION = '1.15.0';

const MODULE = 'github.com/coredns/coredns';
/**
 * CoreDNS plugins that a cluster's DNS needs. With all plugins, the build would include the libraries of cloud
 * providers.
 */
const PLUGINS = ['bind', 'errors', 'kubernetes', 'ready'] as const;

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
    const env = { PATH: `${process.env.PATH ?? ''}${delimiter}/usr/local/go/bin`, CGO_ENABLED: '0' };
    const args = ['build', '-mod=mod', '-ldflags=-s -w', '-o', 'coredns', '.'];
    await run('go', args, { cwd: work, nice: true, env });
    await rename(join(work, 'coredns'), file);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Addresses and files of CoreDNS. */
export interface DnsPlaces {
  readonly address: string;
  readonly kubeconfig: string;
  /** `host:port` that serves `/ready` when all names are known. */
  readonly ready: string;
}

/**
 * Returns CoreDNS's configuration. It follows `cluster/addons/dns/coredns` of the release, but refuses names outside
 * the cluster instead of forwarding them.
 */
export function corefile({ address, kubeconfig, ready }: DnsPlaces): string {
  return [
    'cluster.local:53 in-addr.arpa:53 {',
    `    bind ${address}`,
    '    errors',
    `    ready ${ready}`,
    '    kubernetes cluster.local in-addr.arpa {',
    `        kubeconfig ${kubeconfig}`,
    '        pods insecure',
    '    }',
    '}',
    '',
  ].join('\n');
}
