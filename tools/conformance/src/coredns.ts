import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { run } from './run.ts';

/** The release of the cluster's DNS. */
export const COREDNS_VERSION = '1.15.0';

const MODULE = 'github.com/coredns/coredns';
/** As much of CoreDNS as a cluster's names take; all of its plugins would be clouds' libraries too. */
const PLUGINS = ['bind', 'errors', 'kubernetes', 'ready'] as const;

/** The program: CoreDNS as its own `coredns.go` has it, with these plugins alone. */
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

/** Builds CoreDNS from its Go module: two to four minutes on two cores, once. @throws Error where it does not build */
export async function buildCoreDns(file: string, say: (text: string) => void): Promise<void> {
  say(`building CoreDNS ${COREDNS_VERSION}, once`);
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

/** Where CoreDNS asks and answers. */
export interface DnsPlaces {
  readonly address: string;
  readonly kubeconfig: string;
  /** Answers `/ready` when all names are known: `host:port`. */
  readonly ready: string;
}

/**
 * What CoreDNS is told (`cluster/addons/dns/coredns` of the release has it forward what is not the cluster's; here that is refused).
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
